import { createHash } from "node:crypto";
import type { AccountMode } from "../../core/words/account-state.ts";
import { createApi, serveApi } from "./exchange/api.ts";
import type { Credential, WireAccountMode } from "./exchange/credential.ts";
import type { Source } from "./exchange/source.ts";
import { type AccountBills, type LedgerOptions, makeLedger } from "./ledger.ts";
import { seededRandom } from "./random.ts";
import { makeContracts, makeLoanToValue, makeSymbols } from "./records.ts";
import { sandboxSource } from "./source.ts";

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

type SandboxOptions = Pick<LedgerOptions, "seed" | "productTypes" | "futureDays"> & {
  /** The accounts' names. Each account has its own ledger and keys. */
  readonly accountNames: readonly string[];
  readonly modeOf: (name: string) => AccountMode;
  /** When it was opened, from which on the seed alone decides. Default now. */
  readonly openedAt?: number;
  /** 0 for any free one. */
  readonly port: number;
};

export type OpenSandbox = AsyncDisposable & {
  readonly url: string;
  readonly accounts: readonly SandboxAccount[];
  /** The first account. */
  readonly account: SandboxAccount;
};

/** A sandbox exchange on a port of this machine, until it is disposed. */
export async function openSandbox(options: SandboxOptions): Promise<OpenSandbox> {
  const { seed, accountNames, modeOf, openedAt = Date.now(), port, ...ledger } = options;
  const accounts = accountNames.map((name, account) => {
    const own = { seed: `${seed}/${name}`, now: openedAt, account, mode: modeOf(name) };
    return accountOf(seed, name, makeLedger({ ...ledger, ...own }));
  });
  const [account] = accounts;
  if (account === undefined) throw new RangeError("a sandbox needs at least one account");
  const keys = accounts.map(
    (account) => [account.apiKey, credentialOf(account, modeOf(account.name))] as const,
  );
  const answer = createApi({
    source: sourceOf(accounts, seed, openedAt),
    credentials: new Map(keys),
    now: machineClock,
    clock: machineClock,
  });
  return { accounts, account, ...(await serveApi(answer, port)) };
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
export const machineClock = (): number => performance.timeOrigin + performance.now();

export function accountOf(
  seed: string | number,
  name: string,
  ledger: AccountBills,
): SandboxAccount {
  const token = (what: string) =>
    createHash("sha256").update(`${seed}/${name}/${what}`).digest("hex");
  return {
    name,
    uid: String(Number.parseInt(token("uid").slice(0, 8), 16) + 1_000_000_000),
    apiKey: `sandbox_${token("key").slice(0, 24)}`,
    apiSecret: token("secret"),
    apiPassphrase: token("passphrase").slice(0, 20),
    riskUnitIds: [`${token("unit").replace(/\D/g, "").slice(0, 10)}`],
    ledger,
  };
}

/** What the exchange permits an account. */
export const credentialOf = (
  { name, uid, apiSecret, apiPassphrase }: SandboxAccount,
  accountMode: WireAccountMode,
): Credential => ({
  secret: apiSecret,
  passphrase: apiPassphrase,
  uid,
  name,
  permissions: ["bills", "loan-to-value", "spot", "uta-mgt", "tax"],
  accountMode,
  environment: "live",
});

/** Answers from the accounts' ledgers, and with settings that never change. */
export function sourceOf(
  accounts: readonly SandboxAccount[],
  seed: string | number,
  openedAt: number,
): Source {
  const data = accounts.map(({ name, uid, riskUnitIds, ledger }) => {
    const units = riskUnitIds.map((id) => {
      const random = seededRandom(`${seed}/${name}/${id}`);
      return [id, makeLoanToValue(random, [uid, `${uid}1`])] as const;
    });
    return [uid, { ledger, riskUnits: new Map(units) }] as const;
  });
  return sandboxSource({
    accounts: new Map(data),
    symbols: makeSymbols(seededRandom(`${seed}/symbols`), openedAt),
    contracts: (productType) => makeContracts(productType, openedAt),
  });
}
