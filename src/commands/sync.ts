import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Account, Config } from "../config/config.ts";
import type { Database } from "../db/connect.ts";
import { holdAccount } from "../db/lease.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { beginRun, finishRun } from "../db/run-log.ts";
import { openStore } from "../db/store.ts";
import { openTransport, type Transport } from "../exchange/transport.ts";
import { readQuarantined } from "../reports/quarantine.ts";
import { type AccountReport, syncAccount } from "../sync/run.ts";
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
  const { db } = database;
  const migrated = await migrate(database.url.reveal());
  if (migrated > 0) reporter.notice(`applied ${formatCounted(migrated, "migration")}`);
  await using transport = openTransport();
  const runId = randomUUID();
  await beginRun(db, runId, "sync");
  const sayStopping = () =>
    reporter.notice("stopping after the pages in hand; once more stops at once, which is safe too");
  io.signal.addEventListener("abort", sayStopping);
  const deps = { config, io, reporter, db, transport, runId };
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
  readonly runId: string;
};

function syncOne(
  { config, io, reporter, db, transport, runId }: AccountDeps,
  account: Account,
): Promise<AccountReport> {
  const { signal } = io;
  return syncAccount(
    {
      exchangeOf: () =>
        exchangeOf(config, account, { transport, clock: systemClock, random: Math.random }),
      async holdAccount(name) {
        const lease = await holdAccount(db, name, { onWait: reporter.notice, signal });
        return {
          store: openStore(db, lease, runId),
          assertHeld: lease.assertHeld,
          [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
        };
      },
      settleLagMs: config.settleLagMs,
      signal,
      onProgress: reporter.progress,
    },
    account,
  );
}

const logEnd = (db: Database, result: SyncResult): Promise<void> =>
  finishRun(db, result.runId, {
    outcome: result.outcome,
    counts: countsOf(result.reports),
    error: errorText(result.reports) ?? null,
  });
