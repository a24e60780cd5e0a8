import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Account, Config } from "../config/config.ts";
import { recordKey, refuseTakenKey } from "../db/account-keys.ts";
import type { Database } from "../db/connect.ts";
import { holdAccount } from "../db/lease.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { beginRun, finishRun } from "../db/run-log.ts";
import { openStore } from "../db/store.ts";
import { type AddressLimits, createAddressLimits } from "../exchange/address-limits.ts";
import { openTransport, type Transport } from "../exchange/transport.ts";
import { readQuarantined } from "../reports/quarantine.ts";
import { type AccountReport, syncAccount } from "../sync/run.ts";
import type { PageCommit } from "../sync/store.ts";
import { formatCounted } from "../terminal/format.ts";
import { exchangeOf } from "./exchange.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";
import { openReporter, type Reporter } from "./reporter.ts";
import { exitCodeOf, type SyncResult, syncResult } from "./sync-result.ts";
import { countsOf, errorText, summaryJson, summaryText } from "./sync-summary.ts";

export type SyncOptions = { readonly json: boolean };

/** `sync`: brings every account's bills up to now. Never throws for what a single account did. */
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
  const addressLimits = createAddressLimits(systemClock);
  const deps = { config, io, reporter, db, transport, addressLimits, runId };
  const reports = await Promise.all(config.accounts.map((account) => syncOne(deps, account)));
  // Where the database is away, the reports say so already.
  const quarantined = await readQuarantined(db).catch(() => []);
  const elapsedMs = performance.now() - startedAt;
  io.signal.removeEventListener("abort", sayStopping);
  const result = syncResult({ runId, reports, quarantined, elapsedMs });
  reporter.end(result);
  // Before the run log, which may fail: what was done is told in any case.
  if (options.json) printJson(io, summaryJson(result));
  else print(io, summaryText(result));
  await logEnd(db, result);
  return exitCodeOf(result);
}

type AccountDeps = {
  readonly config: Config;
  readonly io: Io;
  readonly reporter: Reporter;
  readonly db: Database;
  readonly transport: Transport;
  readonly addressLimits: AddressLimits;
  readonly runId: string;
};

function syncOne(deps: AccountDeps, account: Account): Promise<AccountReport> {
  const { config, io, reporter, transport, addressLimits } = deps;
  return syncAccount(
    {
      exchangeOf: () =>
        exchangeOf(config, account, {
          transport,
          clock: systemClock,
          random: Math.random,
          addressLimits,
        }),
      holdAccount: () => hold(deps, account),
      settleLagMs: config.settleLagMs,
      signal: io.signal,
      onProgress: reporter.progress,
    },
    account,
  );
}

/** The account's lease and tables. A key that is stored under another name holds and writes nothing. */
async function hold({ db, io, reporter, runId }: AccountDeps, { name, credentials }: Account) {
  if (credentials === undefined) throw new Error(`defect: account ${name} has no credentials`);
  const named = { account: name, key: credentials.key };
  await refuseTakenKey(db, named);
  const lease = await holdAccount(db, name, { onWait: reporter.notice, signal: io.signal });
  const store = openStore(db, lease, runId);
  let recorded: Promise<void> | undefined;
  return {
    store: {
      ...store,
      // Not before a page is here: a key that the exchange refuses has stored nothing.
      async commitPage(page: PageCommit) {
        recorded ??= recordKey(db, named);
        await recorded;
        return store.commitPage(page);
      },
    },
    assertHeld: lease.assertHeld,
    [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
  };
}

const logEnd = (db: Database, result: SyncResult): Promise<void> =>
  finishRun(db, result.runId, {
    outcome: result.outcome,
    counts: countsOf(result.reports),
    error: errorText(result.reports) ?? null,
  });
