import type { ApiRequest } from "../../src/core/server/request.ts";
import { type Answer, createApi, serveApi } from "../../src/wings/sandbox/exchange/api.ts";
import type { Source } from "../../src/wings/sandbox/exchange/source.ts";
import type { AccountBills } from "../../src/wings/sandbox/ledger.ts";
import {
  accountOf,
  credentialOf,
  machineClock,
  type SandboxAccount,
  sourceOf,
} from "../../src/wings/sandbox/sandbox.ts";
import {
  alwaysClassic,
  type LedgerOptions,
  type ModeChange,
  makeLedger,
  modeAt,
} from "./account-ledger.ts";
import { atOnce, type OddCredential, refusing, worded } from "./credential.ts";
import { counted, type Statistics } from "./statistics.ts";

/** The wing's sandbox, with what only tests ask of an exchange. */
export type SandboxOptions = Omit<LedgerOptions, "now" | "account"> & {
  /** The exchange's clock, in milliseconds since the Unix epoch. Default the machine's clock. */
  readonly now?: () => number;
  /** The accounts' names. Each account has its own ledger and keys. Default `["main"]`. */
  readonly accountNames?: readonly string[];
  /** Each account's modes over time. Default `modes`, or else classic at all times. */
  readonly modesOf?: (name: string) => readonly ModeChange[];
  /** Changes how pages are served, where nobody knows what the real exchange does. */
  readonly wrapSource?: (source: Source) => Source;
  /** Changes a ledger before it is served. */
  readonly alterLedger?: (ledger: AccountBills, name: string) => AccountBills;
  /** Changes what the exchange permits an account. */
  readonly alterCredential?: (credential: OddCredential) => OddCredential;
  /** The time by the exchange's clock for the request that it is serving. Default `now`. */
  readonly clock?: () => number;
  /** Changes the answers. */
  readonly wrapAnswer?: (answer: Answer) => Answer;
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
  const { seed, now = machineClock, accountNames = ["main"], wrapSource, wrapAnswer } = options;
  const openedAt = Math.floor(now());
  const accounts = accountNames.map((name, account) => {
    const own = { seed: `${seed}/${name}`, now: openedAt, modes: modesOf(options, name), account };
    const ledger = makeLedger({ ...options, ...own });
    return accountOf(seed, name, options.alterLedger?.(ledger, name) ?? ledger);
  });
  const [account] = accounts;
  if (account === undefined) throw new RangeError("a sandbox needs at least one account");
  const credentials = new Map(accounts.map((one) => [one.apiKey, credential(options, one)]));
  const source = sourceOf(accounts, seed, openedAt);
  let arrivedAt = 0;
  const plain = createApi({
    source: refusing(wrapSource?.(source) ?? source, [...credentials.values()]),
    credentials: {
      get(apiKey) {
        const known = credentials.get(apiKey);
        return known && atOnce(known);
      },
    },
    now() {
      arrivedAt = now();
      return arrivedAt;
    },
    clock: options.clock ?? now,
  });
  const { answer, statistics } = counted(
    worded(plain, (apiKey) => credentials.get(apiKey)),
    () => arrivedAt,
    (apiKey) => credentials.get(apiKey)?.uid,
  );
  const inCase: Answer = (request) => answer({ ...request, headers: lowerCased(request.headers) });
  return { answer: wrapAnswer?.(inCase) ?? inCase, accounts, account, statistics };
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

/** A server's headers have names in lower case. */
const lowerCased = (headers: ApiRequest["headers"]): ApiRequest["headers"] =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const modesOf = ({ modes = alwaysClassic, modesOf }: SandboxOptions, name: string) =>
  modesOf?.(name) ?? modes;

function credential(options: SandboxOptions, account: SandboxAccount): OddCredential {
  const { now = machineClock, alterCredential = (given) => given } = options;
  const modes = modesOf(options, account.name);
  return alterCredential({
    ...credentialOf(account, "classic"),
    // Uses the true time, even while a fault sets the clock wrong.
    accountMode: () => modeAt(modes, now()),
  });
}
