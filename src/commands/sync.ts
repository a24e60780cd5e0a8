import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Account, Config } from "../config.ts";
import { holdAccount } from "../db/lease.ts";
import { migrate } from "../db/migrate.ts";
import { openCommandDatabase } from "../db/open.ts";
import { beginRun, finishRun, type Outcome } from "../db/run-log.ts";
import { openStore } from "../db/store.ts";
import { AccountHeldError, messageOf, StoppedError } from "../errors.ts";
import { openTransport } from "../exchange/transport.ts";
import { type AccountReport, isComplete, syncAccount } from "../sync/run.ts";
import { exchangeOf } from "./exchange.ts";
import { type ExitCode, type Io, print, printJson } from "./io.ts";
import { openReporter } from "./reporter.ts";
import { countsOf, summaryText } from "./sync-summary.ts";

export type SyncOptions = { readonly json: boolean };

/** `sync`: brings every account's bills up to now. Never throws for what a single account did. */
export async function syncCommand(config: Config, io: Io, options: SyncOptions): Promise<ExitCode> {
  const startedAt = performance.now();
  using reporter = openReporter(config.logLevel, io);
  await using database = await openCommandDatabase(config.database, reporter.notice);
  const { db } = database;
  const migrated = await migrate(database.url.reveal());
  if (migrated > 0) reporter.notice(`applied ${migrated} migrations`);
  await using transport = openTransport();
  const runId = randomUUID();
  await beginRun(db, runId, "sync");

  const syncOne = (account: Account): Promise<AccountReport> =>
    syncAccount(
      {
        exchangeOf: () =>
          exchangeOf(config, account, { transport, clock: systemClock, random: Math.random }),
        async holdAccount(name) {
          const lease = await holdAccount(db, name, { onWait: reporter.notice, signal: io.signal });
          return {
            store: openStore(db, lease, runId),
            assertHeld: lease.assertHeld,
            [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
          };
        },
        settleLagMs: config.settleLagMs,
        signal: io.signal,
        onProgress: reporter.progress,
      },
      account,
    );
  const reports = await Promise.all(config.accounts.map(syncOne));
  reporter.end();

  const outcome = outcomeOf(reports);
  const error = reports.map(({ error }) => error).find((error) => error !== undefined);
  await finishRun(db, runId, {
    outcome,
    counts: countsOf(reports),
    error: error === undefined ? null : messageOf(error),
  });
  const elapsedMs = performance.now() - startedAt;
  if (options.json) printJson(io, { runId, outcome, accounts: countsOf(reports) });
  else print(io, summaryText(reports, outcome, elapsedMs));
  return exitCodeOf(reports, outcome);
}

function outcomeOf(reports: readonly AccountReport[]): Outcome {
  const errors = reports.flatMap(({ error, streams }) => [
    error,
    ...streams.map((stream) => stream.error),
  ]);
  if (errors.some((error) => error instanceof StoppedError)) return "stopped";
  if (reports.every(isComplete)) return "complete";
  return reports.every(({ error }) => error !== undefined) ? "failed" : "incomplete";
}

function exitCodeOf(reports: readonly AccountReport[], outcome: Outcome): ExitCode {
  if (outcome === "complete") return 0;
  const isHeld = ({ error }: AccountReport) => error instanceof AccountHeldError;
  const othersComplete = reports.every((report) => isHeld(report) || isComplete(report));
  return othersComplete && reports.some(isHeld) ? 3 : 1;
}
