import PQueue from "p-queue";
import { shareAddress } from "../../app/address-share.ts";
import {
  type AccountExchange,
  type ExchangeAccess,
  exchangeOf,
  openExchangeAccess,
} from "../../app/exchange-session.ts";
import { type ExitCode, type Io, printJson, printSummary } from "../../app/io.ts";
import { proofText, proveKey } from "../../app/key-proof.ts";
import { type LoggedEnd, loggedRun } from "../../app/logged-run.ts";
import { migratedText } from "../../app/migrated-text.ts";
import { withoutRetired } from "../../app/retired.ts";
import { storeDays } from "../../app/stored-days.ts";
import { allTargets, contractTypesOf, type Targets } from "../../app/targets.ts";
import {
  type Account,
  type AccountWithCredentials,
  withCredentials,
} from "../../config/account.ts";
import type { Config } from "../../config/config.ts";
import { accountBills } from "../../contract/account-bills.ts";
import type { ContractProductType } from "../../contract/product-types.ts";
import { type NamedKey, refuseTakenKey, rememberingKey } from "../../db/accounts/account-keys.ts";
import { readRetirements } from "../../db/accounts/retirement.ts";
import type { Database } from "../../db/connect.ts";
import { LockWaits } from "../../db/lease/lock-waits.ts";
import type { Renewals } from "../../db/lease/renewals.ts";
import { syncLeaseRenewals, takeSyncLease } from "../../db/lease/sync-lease.ts";
import { openStore } from "../../db/ledger/ledger-store.ts";
import { migrate } from "../../db/migrate.ts";
import { type CommandDatabase, openCommandDatabase } from "../../db/open.ts";
import { commitContracts, commitSymbols } from "../../db/reference/stored-symbols.ts";
import type { ExchangeError } from "../../errors.ts";
import { addressLimit } from "../../exchange/address-limits.ts";
import { countRejected } from "../../reports/rejected-rows.ts";
import type { ReadAccount } from "../../sync/account-proof.ts";
import { type AccountReport, syncAccount } from "../../sync/run.ts";
import type { HeldAccount } from "../../sync/store.ts";
import { syncContracts } from "../../sync/sync-contracts.ts";
import { syncSymbols } from "../../sync/sync-symbols.ts";
import { openReporter, type Reporter } from "./reporter.ts";
import { errorsOf, type SyncResult, type SyncRun, syncResult } from "./sync-result.ts";
import { countsOf, summaryJson, summaryText } from "./sync-summary.ts";

/**
 * Twice as many as use up the limit of this machine's address: more would only hold leases, and
 * pages that wait for the database.
 */
const accountsAtOnce = 2 * Math.ceil(addressLimit.requests / accountBills.limit.requests);

export type SyncOptions = {
  readonly json: boolean;
  /** Default all. Which targets of which accounts, the configuration says. */
  readonly targets?: Targets;
  /** Whose contracts are read. Default those of the configuration. */
  readonly contractTypes?: readonly ContractProductType[];
  /** Takes keys that were not used for their accounts before as they are. Default false. */
  readonly newKey?: boolean;
};

/**
 * `sync`: brings the symbols and contracts, and every account's loan-to-value and bills, up to now. Never throws
 * for what a single one of them did.
 */
export async function syncCommand(given: Config, io: Io, options: SyncOptions): Promise<ExitCode> {
  using reporter = openReporter(given.logLevel, io);
  await using database = await openCommandDatabase(given.database, reporter.notice);
  const { json, targets = allTargets, newKey = false, contractTypes } = options;
  const onResult = (result: SyncResult) => {
    if (json) printJson(io, summaryJson(result));
    else printSummary(io, summaryText(result));
  };
  const { signal } = io;
  const deps = { database, reporter, signal, targets, newKey, onResult };
  return await runSync(given, { ...deps, ...(contractTypes && { contractTypes }) });
}

export type SyncRunDeps = Pick<Deps, "reporter" | "signal" | "targets" | "newKey" | "onResult"> & {
  readonly database: CommandDatabase;
  readonly contractTypes?: readonly ContractProductType[];
};

/** The whole of a sync. Its result is told before it is written down, which may fail. */
export async function runSync(given: Config, deps: SyncRunDeps): Promise<ExitCode> {
  const { database, reporter } = deps;
  for (const warning of given.warnings) reporter.warn(warning);
  const { db } = database;
  const migrated = migratedText(await migrate(database.url.reveal()));
  if (migrated !== undefined) reporter.notice(migrated);
  await storeDays(db, deps.signal, reporter.notice);
  const { config, notices } = withoutRetired(given, await readRetirements(db));
  for (const line of notices) reporter.warn(line);
  await using access = openExchangeAccess();
  using _share = await shareAddress(db, access.addressLimits, access.clock);
  const renewals = syncLeaseRenewals(db);
  const lockWaits = new LockWaits(db);
  const { contractTypes = contractTypesOf(config) } = deps;
  return await loggedRun(db, "sync", (runId) =>
    sync({ ...deps, config, contractTypes, db, access, runId, renewals, lockWaits }),
  );
}

async function sync(deps: Deps): Promise<LoggedEnd> {
  const { config, signal, reporter, db, runId, targets, onResult } = deps;
  const startedAt = performance.now();
  const sayStopping = () =>
    reporter.notice("stopping after the pages in hand; once more stops at once, which is safe too");
  signal.addEventListener("abort", sayStopping);
  const turns = new PQueue({ concurrency: accountsAtOnce });
  // Symbols and contracts begin first, and where they fail, nobody waits for them.
  const [symbols, contracts, ...reports] = await Promise.all([
    targets.has("symbols") ? syncPairs(deps) : undefined,
    targets.has("contracts") ? syncOwnContracts(deps) : undefined,
    ...config.accounts.map((account) => turns.add(() => syncOne(deps, account))),
  ]);
  const quarantined = reports.length === 0 ? [] : await lookUpRejected(db);
  const elapsedMs = performance.now() - startedAt;
  signal.removeEventListener("abort", sayStopping);
  const result = syncResult({ runId, symbols, contracts, reports, quarantined, elapsedMs });
  reporter.end(result);
  onResult(result);
  const { outcome, exitCode } = result;
  return { outcome, exitCode, counts: countsOf(result), errors: errorsOf(result) };
}

const lookUpRejected = (db: Database): Promise<SyncRun["quarantined"]> =>
  countRejected(db).catch((error: unknown) => ({ error }));

type Deps = {
  readonly config: Config;
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
  readonly targets: Targets;
  readonly onResult: (result: SyncResult) => void;
  readonly db: Database;
  readonly access: ExchangeAccess;
  readonly runId: string;
  readonly contractTypes: readonly ContractProductType[];
  readonly newKey: boolean;
  readonly renewals: Renewals;
  readonly lockWaits: LockWaits;
};

/** Symbols are public: this client has no key that it could send along. */
function syncPairs({ config, signal, reporter, db, access }: Deps) {
  return syncSymbols({
    client: exchangeOf(config, {}, access).client,
    commitSymbols: (list) => commitSymbols(db, list),
    signal,
    onFailure: noticeFailure(reporter, "symbols"),
  });
}

function syncOwnContracts({ config, contractTypes, signal, reporter, db, access }: Deps) {
  return syncContracts(
    {
      client: exchangeOf(config, {}, access).client,
      commitContracts: (list) => commitContracts(db, list),
      signal,
      onFailure: noticeFailure(reporter, "contracts"),
    },
    contractTypes,
  );
}

const noticeFailure =
  (reporter: Reporter, name: string) =>
  ({ message }: ExchangeError): void =>
    reporter.notice(`${name}: a request failed: ${message}`);

async function syncOne(deps: Deps, wanted: Account): Promise<AccountReport> {
  const { config, signal, reporter, access } = deps;
  const account = await withCredentials(wanted, signal).catch((error: unknown) => ({ error }));
  if ("error" in account) {
    return { account: wanted.name, loanToValue: [], streams: [], error: account.error };
  }
  const exchange = exchangeOf(config, account, access);
  return syncAccount(
    {
      exchangeOf: () => exchange,
      takeSyncLease: () => hold(deps, account, exchange),
      prove: (read, held) => prove(deps, account, { exchange, read, held }),
      settleLagMs: config.settleLagMs,
      sleep: access.clock.sleep,
      signal,
      onProgress: reporter.progress,
      onFailure: noticeFailure(reporter, account.name),
    },
    account,
  );
}

/** The account's lease and tables. A key that is stored under another name writes nothing. */
async function hold(deps: Deps, account: AccountWithCredentials, exchange: AccountExchange) {
  const { db, signal, reporter, runId, renewals, lockWaits } = deps;
  const { name } = account;
  const named = namedKey(account);
  await refuseTakenKey(db, named);
  await using stack = new AsyncDisposableStack();
  const { rateShare } = exchange;
  const options = { onWait: reporter.notice, signal, rateShare, renewals, lockWaits };
  const lease = stack.use(await takeSyncLease(db, name, options));
  const store = openStore(db, lease, runId, lockWaits);
  const withKey = rememberingKey(db, named);
  const kept = stack.move();
  return {
    store: {
      ...store,
      recordAvailability: withKey(store.recordAvailability),
      commitPage: withKey(store.commitPage),
      commitLoanToValue: withKey(store.commitLoanToValue),
    },
    assertHeld: lease.assertHeld,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const namedKey = ({ name, credentials }: AccountWithCredentials): NamedKey => ({
  account: name,
  key: credentials.key,
});

type Proving = {
  readonly exchange: AccountExchange;
  readonly read: ReadAccount;
  readonly held: HeldAccount;
};

/** A key that reads another account's ledger writes nothing. */
async function prove(
  { db, signal, reporter, newKey }: Deps,
  account: AccountWithCredentials,
  { exchange, read, held: { assertHeld } }: Proving,
): Promise<void> {
  if (newKey) return;
  const { name } = account;
  const onFailure = noticeFailure(reporter, name);
  const proving = { db, exchange, assertHeld, signal, onFailure };
  const text = proofText(await proveKey(proving, namedKey(account), read));
  if (text !== undefined) reporter.notice(`${name}: ${text}`);
}
