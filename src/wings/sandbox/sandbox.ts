import { createHash } from "node:crypto";
import { type Answer, createApi } from "../../core/server/api.ts";
import type { Statistics } from "../../core/server/arrivals.ts";
import { serveApi } from "../../core/server/http.ts";
import type { Credential, Source } from "../../core/server/source.ts";
import {
  type AccountBills,
  alwaysClassic,
  type LedgerOptions,
  type ModeChange,
  makeLedger,
  modeAt,
} from "./ledger.ts";
import { seededRandom } from "./random.ts";
import { makeContracts, makeLoanToValue, makeSymbols } from "./records.ts";
import { type SandboxSourceOptions, sandboxSource } from "./source.ts";

/** An account of the sandbox: what its owner knows, and what the exchange knows about it. */
export type SandboxAccount = {
  readonly name: string;
  readonly uid: string;
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly apiPassphrase: string;
  readonly riskUnitIds: readonly string[];
  readonly ledger: AccountBills;
};

export type SandboxOptions = Omit<LedgerOptions, "now" | "account"> & {
  /** The exchange's clock, in milliseconds since the Unix epoch. Default the machine's clock. */
  readonly now?: () => number;
  /** When it was opened, from which on the seed alone decides. Default now. */
  readonly openedAt?: number;
  /** The accounts' names. Each account has its own ledger and keys. Default `["main"]`. */
  readonly accountNames?: readonly string[];
  /** Each account's modes over time. Default `modes`, or else classic at all times. */
  readonly modesOf?: (name: string) => readonly ModeChange[];
  /** Changes how pages are served, where nobody knows what the real exchange does. */
  readonly wrapSource?: (source: Source) => Source;
  /** Changes a ledger before it is served. */
  readonly alterLedger?: (ledger: AccountBills, name: string) => AccountBills;
  /** Changes what the exchange permits an account. */
  readonly alterCredential?: (credential: Credential) => Credential;
  /** The time by the exchange's clock for the request that it is serving. Default `now`. */
  readonly clock?: () => number;
  /** Changes the answers. */
  readonly wrapAnswer?: (answer: Answer) => Answer;
  /** Default 60 pairs that never change. */
  readonly symbols?: SandboxSourceOptions["symbols"];
  /** Default the contracts that the ledgers' bills name. */
  readonly contracts?: SandboxSourceOptions["contracts"];
};

export type Sandbox = {
  /** Answers in process, for simulations. */
  readonly answer: Answer;
  readonly accounts: readonly SandboxAccount[];
  /** The first account. */
  readonly account: SandboxAccount;
  readonly statistics: () => Statistics;
};

export type OpenSandbox = Sandbox & AsyncDisposable & { readonly url: string };

/** A sandbox exchange without a network. The seed and the clock determine everything in it. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const { seed, now = machineClock, accountNames = ["main"], symbols, contracts } = options;
  const { openedAt = Math.floor(now()) } = options;
  const [first, ...others] = accountNames.map((name, index) =>
    makeAccount({ ...options, account: index }, name, openedAt),
  );
  if (first === undefined) throw new RangeError("a sandbox needs at least one account");
  const accounts = [first, ...others];
  const pairs = makeSymbols(seededRandom(`${seed}/symbols`), openedAt);
  const source = sandboxSource({
    accounts: new Map(accounts.map((account) => [account.uid, accountData(options, account)])),
    symbols: symbols ?? (() => pairs),
    contracts: contracts ?? ((productType) => makeContracts(productType, openedAt)),
  });
  const api = createApi({
    source: options.wrapSource?.(source) ?? source,
    credentials: new Map(accounts.map((account) => [account.apiKey, credential(options, account)])),
    now,
    clock: options.clock ?? now,
  });
  return {
    answer: options.wrapAnswer?.(api.answer) ?? api.answer,
    accounts,
    account: first,
    statistics: api.statistics,
  };
}

/** The sandbox exchange on a port of this machine, until it is disposed. */
export async function openSandbox(
  options: SandboxOptions & {
    /** Default any free one. */
    readonly port?: number;
  },
): Promise<OpenSandbox> {
  const sandbox = createSandbox(options);
  return { ...sandbox, ...(await serveApi(sandbox.answer, options.port ?? 0)) };
}

/** The lines of an `.env` for a sandbox and its first account. */
export const sandboxEnvironment = ({
  url,
  account,
}: Pick<OpenSandbox, "url" | "account">): string =>
  [
    `EXCHANGE_BASE_URL=${url}`,
    `EXCHANGE_API_KEY=${account.apiKey}`,
    `EXCHANGE_API_SECRET=${account.apiSecret}`,
    `EXCHANGE_API_PASSPHRASE=${account.apiPassphrase}`,
    "",
  ].join("\n");

// More precise than Date.now(), whose whole milliseconds would blur the edges of a rolling second.
const machineClock = (): number => performance.timeOrigin + performance.now();

function makeAccount(
  options: SandboxOptions & Pick<LedgerOptions, "account">,
  name: string,
  now: number,
): SandboxAccount {
  const { seed, alterLedger } = options;
  const token = (what: string) =>
    createHash("sha256").update(`${seed}/${name}/${what}`).digest("hex");
  const modes = modesOfAccount(options, name);
  const ledger = makeLedger({ ...options, seed: `${seed}/${name}`, now, modes });
  return {
    name,
    uid: String(Number.parseInt(token("uid").slice(0, 8), 16) + 1_000_000_000),
    apiKey: `sandbox_${token("key").slice(0, 24)}`,
    apiSecret: token("secret"),
    apiPassphrase: token("passphrase").slice(0, 20),
    riskUnitIds: [`${token("unit").replace(/\D/g, "").slice(0, 10)}`],
    ledger: alterLedger?.(ledger, name) ?? ledger,
  };
}

function accountData({ seed }: SandboxOptions, account: SandboxAccount) {
  const { name, uid, riskUnitIds, ledger } = account;
  const riskUnits = new Map(
    riskUnitIds.map((id) => [
      id,
      makeLoanToValue(seededRandom(`${seed}/${name}/${id}`), [uid, `${uid}1`]),
    ]),
  );
  return { ledger, riskUnits };
}

const modesOfAccount = ({ modes = alwaysClassic, modesOf }: SandboxOptions, name: string) =>
  modesOf?.(name) ?? modes;

function credential(
  options: SandboxOptions,
  { name, uid, apiSecret, apiPassphrase }: SandboxAccount,
): Credential {
  const { now = machineClock } = options;
  const modes = modesOfAccount(options, name);
  const credential: Credential = {
    secret: apiSecret,
    passphrase: apiPassphrase,
    uid,
    name,
    permissions: ["bills", "loan-to-value", "spot", "uta-mgt", "tax"],
    // Uses the true time, even while a fault sets the clock wrong.
    accountMode: () => modeAt(modes, now()),
    environment: "live",
  };
  return options.alterCredential?.(credential) ?? credential;
}
