import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Account, Config } from "../config/config.ts";
import { refuseTakenKey, rememberingKey } from "../db/account-keys.ts";
import type { Database } from "../db/connect.ts";
import { holdAccount, type Room } from "../db/lease.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { beginRun, finishRun } from "../db/run-log.ts";
import { openStore } from "../db/store.ts";
import { commitSymbols } from "../db/symbols.ts";
import type { ExchangeError } from "../errors.ts";
import { createAddressLimits } from "../exchange/address-limits.ts";
import { openTransport } from "../exchange/transport.ts";
import { readQuarantined } from "../reports/quarantine.ts";
import { type AccountReport, syncAccount } from "../sync/run.ts";
import { syncSymbols } from "../sync/symbols.ts";
import { formatCounted } from "../terminal/format.ts";
import { exchangeOf } from "./exchange.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";
import { everything, type Parts } from "./parts.ts";
import { openReporter, type Reporter } from "./reporter.ts";
import { exitCodeOf, type SyncResult, syncResult } from "./sync-result.ts";
import { countsOf, errorText, summaryJson, summaryText } from "./sync-summary.ts";

export type SyncOptions = {
  readonly json: boolean;
  /** Default all. Which parts of which accounts, the configuration says. */
  readonly parts?: Parts;
};

/**
 * `sync`: brings the symbols, and every account's loan-to-value and bills, up to now. Never throws
 * for what a single one of them did.
 */
export async function syncCommand(config: Config, io: Io, options: SyncOptions): Promise<ExitCode> {
  const startedAt = performance.now();
  using reporter = openReporter(config.logLevel, io);
  await using database = await openCommandDatabase(config.database, reporter.notice);
  for (const warning of config.warnings) reporter.warn(warning);
  const { db } = database;
  const migrated = await migrate(database.url.reveal());
  if (migrated > 0) reporter.notice(`applied ${formatCounted(migrated, "migration")}`);
  await using transport = openTransport();
  const runId = randomUUID();
  await beginRun(db, runId, "sync");
  const sayStopping = () =>
    reporter.notice("stopping after the pages in hand; once more stops at once, which is safe too");
  io.signal.addEventListener("abort", sayStopping);
  const way = {
    transport,
    clock: systemClock,
    random: Math.random,
    addressLimits: createAddressLimits(systemClock),
  };
  const deps = { config, io, reporter, db, way, runId };
  const { parts = everything } = options;
  // Symbols begin first, and where they fail, nobody waits for them.
  const [symbols, ...reports] = await Promise.all([
    parts.has("symbols") ? syncPairs(deps) : undefined,
    ...config.accounts.map((account) => syncOne(deps, account)),
  ]);
  // Where the database is away, the reports say so already.
  const quarantined = await readQuarantined(db).catch(() => []);
  const elapsedMs = performance.now() - startedAt;
  io.signal.removeEventListener("abort", sayStopping);
  const result = syncResult({ runId, symbols, reports, quarantined, elapsedMs });
  reporter.end(result);
  // Before the run log, which may fail: what was done is told in any case.
  if (options.json) printJson(io, summaryJson(result));
  else print(io, summaryText(result));
  await logEnd(db, result);
  return exitCodeOf(result);
}

type Deps = {
  readonly config: Config;
  readonly io: Io;
  readonly reporter: Reporter;
  readonly db: Database;
  /** To the exchange; all accounts share it, and with it the limits of this machine's address. */
  readonly way: Parameters<typeof exchangeOf>[2];
  readonly runId: string;
};

/** Symbols are public: this client has no key that it could send along. */
function syncPairs({ config, io, reporter, db, way }: Deps) {
  return syncSymbols({
    client: exchangeOf(config, {}, way).client,
    commitSymbols: (list) => commitSymbols(db, list),
    signal: io.signal,
    onFailure: noticeFailure(reporter, "symbols"),
  });
}

const noticeFailure =
  (reporter: Reporter, name: string) =>
  ({ message }: ExchangeError): void =>
    reporter.notice(`${name}: a request failed: ${message}`);

function syncOne(deps: Deps, account: Account): Promise<AccountReport> {
  const { config, io, reporter, way } = deps;
  const exchange = exchangeOf(config, account, way);
  return syncAccount(
    {
      exchangeOf: () => exchange,
      holdAccount: () => hold(deps, account, exchange.room),
      settleLagMs: config.settleLagMs,
      signal: io.signal,
      onProgress: reporter.progress,
      onFailure: noticeFailure(reporter, `${account.name}/loan-to-value`),
    },
    account,
  );
}

/** The account's lease and tables. A key that is stored under another name holds and writes nothing. */
async function hold({ db, io, reporter, runId }: Deps, { name, credentials }: Account, room: Room) {
  if (credentials === undefined) throw new Error(`defect: account ${name} has no credentials`);
  const named = { account: name, key: credentials.key };
  await refuseTakenKey(db, named);
  const lease = await holdAccount(db, name, { onWait: reporter.notice, signal: io.signal, room });
  const store = openStore(db, lease, runId);
  const withKey = rememberingKey(db, named);
  return {
    store: {
      ...store,
      commitPage: withKey(store.commitPage),
      commitLoanToValue: withKey(store.commitLoanToValue),
    },
    assertHeld: lease.assertHeld,
    [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
  };
}

const logEnd = (db: Database, result: SyncResult): Promise<void> =>
  finishRun(db, result.runId, {
    outcome: result.outcome,
    counts: countsOf(result),
    error: errorText(result) ?? null,
  });
