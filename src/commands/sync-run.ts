import type { ContractProductType } from "../contract/product-types.ts";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Unreachable } from "../db/citus.ts";
import type { Database } from "../db/connect.ts";
import { readUsers, type Users } from "../db/lease/lease.ts";
import { type Egress, holderName, Leases, shareAddress } from "../db/lease/leases.ts";
import { migrate } from "../db/migrate.ts";
import type { CommandDatabase } from "../db/open.ts";
import { commitContracts, commitSymbols } from "../db/reference/stored-symbols.ts";
import { DatabaseError, type ExchangeError } from "../errors.ts";
import { readSideBySide } from "../exchange/address-limits.ts";
import { rightsLine } from "../exchange/key-rights.ts";
import {
  type AccountExchange,
  type ExchangeAccess,
  exchangeOf,
  openExchangeAccess,
} from "../exchange/session.ts";
import { openStore } from "../ledger/ledger-store.ts";
import { countRejected } from "../ledger/rejected-bills.ts";
import { replayRejected } from "../ledger/replay-rows.ts";
import { formatCounted } from "../output/format.ts";
import { type Account, type AccountWithCredentials, withCredentials } from "../roster/account.ts";
import type { Config } from "../roster/config.ts";
import { reachableToRead } from "../roster/to-read.ts";
import { historyDefaultMs } from "../sync/recover.ts";
import { type AccountReport, syncAccount } from "../sync/run.ts";
import { syncContracts, syncSymbols } from "../sync/settings-lists.ts";
import type { KeyAnswer } from "../sync/store.ts";
import { checkAccounts } from "./check-accounts.ts";
import { type LoggedEnd, loggedRun } from "./logged-run.ts";
import { openAccount } from "./open-account.ts";
import { migratedText } from "./stored.ts";
import type { Reporter } from "./sync-reporter.ts";
import { errorsOf, type SyncResult, type SyncRun, syncResult } from "./sync-result.ts";
import { countsOf } from "./sync-summary.ts";
import type { Targets } from "./sync-targets.ts";

type SyncSessionDeps = {
  readonly database: CommandDatabase;
  readonly notice: (message: string) => void;
  /** How requests leave this machine. Default as the system chooses. */
  readonly egress?: Egress;
};

/** What the syncs of one process share: a migrated database, and access to the exchange. */
export type SyncSession = AsyncDisposable & {
  /** Syncs the accounts of a configuration, as one row in the run log. */
  run(config: Config, deps: RunDeps): Promise<SyncResult>;
  /**
   * The error after which no more requests are sent: the exchange banned this machine's address.
   */
  ban(): ExchangeError | undefined;
};

export async function openSyncSession(given: SyncSessionDeps): Promise<SyncSession> {
  const { database, notice, egress = {} } = given;
  const { db } = database;
  const migrated = migratedText(await migrate(database.url.reveal()));
  if (migrated !== undefined) notice(migrated);
  await using stack = new AsyncDisposableStack();
  const access = stack.use(openExchangeAccess(egress));
  stack.use(await shareAddress(db, access.addressLimits, access.clock, egress));
  const leases = new Leases(db, { holder: holderName(process.pid, egress) });
  const kept = stack.move();
  return {
    async run(whole, deps) {
      const { config, notices, unreachable } = await reachableToRead(db, whole);
      for (const line of notices) deps.reporter.warn(line);
      const isOfBills = deps.targets.has("bills") || deps.targets.has("ltv");
      // A check may wait an hour for a statement: while a node is away, it is left to a later sync.
      const isChecked = deps.reconcile && isOfBills && unreachable.length === 0;
      const shared = { db, checks: isChecked ? db : undefined, access, leases };
      return await loggedRun({ db, notice: deps.reporter.warn }, "sync", (runId) =>
        sync({ ...deps, ...shared, config, unreachable, runId }),
      );
    },
    ban: () => access.addressLimits.ban(),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Runs one sync of a configuration's accounts, side by side. */
async function sync(deps: SyncDeps): Promise<SyncResult & LoggedEnd> {
  const { config, unreachable, reporter, db, runId, targets } = deps;
  const startedAt = performance.now();
  const users = await readUsers(
    db,
    config.accounts.map(({ name }) => name),
  );
  // Symbols and contracts begin first. If they fail, nothing waits for them.
  const [symbols, contracts, own] = await Promise.all([
    targets.has("symbols") ? syncSymbols(listDeps(deps, "symbols")) : undefined,
    targets.has("contracts")
      ? syncContracts(listDeps(deps, "contracts"), deps.contractTypes)
      : undefined,
    readSideBySide(config.accounts, (account) => syncOne({ ...deps, users }, account)),
  ]);
  const reports = [...own, ...unreachable.map(({ account, error }) => unread(account, error))];
  const answered = reports.filter(({ error }) => !(error instanceof DatabaseError));
  const names = answered.map(({ account }) => account);
  const rejected = names.length === 0 ? [] : await lookUpRejected(db, names);
  const checkable = reports
    .filter(({ error }) => error === undefined)
    .map(({ account }) => account);
  const reconciled = await check(deps, checkable);
  const elapsedMs = performance.now() - startedAt;
  const result = syncResult({
    ...{ runId, symbols, contracts, reports, rejected, reconciled, elapsedMs },
  });
  reporter.end(result);
  return { ...result, counts: countsOf(result), errors: errorsOf(result) };
}

/** The check of what changed. A sync that was stopped leaves it to the next one. */
async function check(
  { checks, signal, reporter }: SyncDeps,
  accounts: readonly string[],
): Promise<SyncRun["reconciled"]> {
  if (checks === undefined || signal.aborted || accounts.length === 0) return undefined;
  const deps = { signal, notice: reporter.warn };
  return checkAccounts(checks, accounts, deps).catch((error: unknown) => ({ error }));
}

const lookUpRejected = (db: Database, accounts: readonly string[]): Promise<SyncRun["rejected"]> =>
  countRejected(db, accounts).catch((error: unknown) => ({ error }));

/** What a caller decides of a run. */
export type RunDeps = {
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
  readonly targets: Targets;
  /** The product types whose contracts are read. */
  readonly contractTypes: readonly ContractProductType[];
  /** Whether to take keys of which nothing says that they are the accounts'. */
  readonly newKey: boolean;
  /** Whether to end with a check of what changed. */
  readonly reconcile: boolean;
};

type SyncDeps = RunDeps & {
  readonly config: Config;
  /** Accounts that should be synced, but whose rows cannot be reached. */
  readonly unreachable: readonly Unreachable[];
  readonly db: Database;
  /** Allows statements as long as a check of millions of bills takes. Undefined if none is wanted. */
  readonly checks: Database | undefined;
  readonly access: ExchangeAccess;
  readonly runId: string;
  readonly leases: Leases;
};

/** The lists are public: this client has no key that it could send. */
const listDeps = ({ config, signal, reporter, db, access }: SyncDeps, name: string) => ({
  client: exchangeOf(config, {}, access).client,
  commitSymbols: (list: Parameters<typeof commitSymbols>[1]) => commitSymbols(db, list),
  commitContracts: (list: Parameters<typeof commitContracts>[1]) => commitContracts(db, list),
  signal,
  onFailure: noticeFailure(reporter, name),
});

const noticeFailure =
  (reporter: Reporter, name: string) =>
  ({ message }: ExchangeError): void =>
    reporter.notice(`${name}: a request failed: ${message}`);

const unread = (account: string, error: unknown): AccountReport => ({
  account,
  loanToValue: [],
  streams: [],
  error,
});

type AccountDeps = SyncDeps & {
  /** The users of accounts for which none is configured. */
  readonly users: Users;
};

async function syncOne(deps: AccountDeps, wanted: Account): Promise<AccountReport> {
  const { config, signal, reporter, access, targets } = deps;
  const account = await withCredentials(wanted, signal).catch((error: unknown) => ({ error }));
  if ("error" in account) {
    return unread(wanted.name, account.error);
  }
  const exchange = exchangeOf(config, account, access);
  return syncAccount(
    {
      exchangeOf: () => exchange,
      takeLease: () => hold(deps, account, exchange),
      settleLagMs: config.settleLagMs,
      historyFrom: targets.has("bills") ? historyFromOf(config, exchange.exchangeNow()) : undefined,
      sleep: access.clock.sleep,
      signal,
      onProgress: reporter.progress,
      onFailure: noticeFailure(reporter, account.name),
      onRecover: (types) =>
        reporter.notice(
          `${account.name}: the last 90 days are read; older bills of ${types.join(", ")} come from tax records, ` +
            "at a request a second: a first run takes some minutes",
        ),
    },
    account,
  );
}

/** The oldest time that is wanted of tax records; undefined for none. */
export const historyFromOf = ({ historyFrom }: Config, now: EpochMs): EpochMs | undefined =>
  historyFrom === "none" ? undefined : (historyFrom ?? epochMs(now - historyDefaultMs));

/** Opens the account and its tables. Once its key is taken, rejected rows are tried again. */
async function hold(deps: AccountDeps, account: AccountWithCredentials, exchange: AccountExchange) {
  const { db, signal, reporter, targets, newKey: isVouched } = deps;
  const { name } = account;
  const opening = { ...deps, isVouched, onWait: reporter.notice };
  const opened = await openAccount(opening, account, exchange);
  return {
    ...opened,
    store: openStore(db, opened),
    async takeKey(answer: KeyAnswer) {
      const { isNew } = await opened.takeKey(answer);
      if (isNew) reporter.notice(`${name}: ${rightsLine(answer.info)}`);
      if (!targets.has("bills")) return;
      const { stored } = await replayRejected(db, opened, name, () => signal.throwIfAborted());
      if (stored > 0)
        reporter.notice(`${name}: ${formatCounted(stored, "rejected row")} can be read now`);
    },
  };
}
