import type { Outcome } from "../db/run-log.ts";
import { AccountHeldError, firstThrown, StoppedError } from "../errors.ts";
import type { Quarantined } from "../reports/quarantine.ts";
import { type AccountReport, isComplete } from "../sync/run.ts";
import type { ExitCode } from "./io.ts";

/** What a run did. */
export type SyncRun = {
  readonly runId: string;
  readonly reports: readonly AccountReport[];
  /** The rows in quarantine by now, those of earlier runs among them. */
  readonly quarantined: readonly Quarantined[];
  readonly elapsedMs: number;
};

/** And what came of it. */
export type SyncResult = SyncRun & { readonly outcome: Outcome };

/** Only what this run set out to sync counts: another stream's quarantine is left out. */
export function syncResult(run: SyncRun): SyncResult {
  const { reports } = run;
  const quarantined = run.quarantined.filter(({ account, productType }) =>
    reports.some(({ streams }) =>
      streams.some(
        ({ stream }) => stream.account === account && stream.productType === productType,
      ),
    ),
  );
  return { ...run, quarantined, outcome: outcomeOf(reports, quarantined) };
}

function outcomeOf(
  reports: readonly AccountReport[],
  quarantined: readonly Quarantined[],
): Outcome {
  const errors = reports.flatMap(({ error, streams }) => [
    error,
    ...streams.map((stream) => stream.error),
  ]);
  if (errors.some((error) => firstThrown(error) instanceof StoppedError)) return "stopped";
  // A row in quarantine is none of the ledger's: without it, the ledger is not complete.
  if (reports.every(isComplete)) return quarantined.length === 0 ? "complete" : "incomplete";
  return reports.every(({ error }) => error !== undefined) ? "failed" : "incomplete";
}

export function exitCodeOf({ reports, quarantined, outcome }: SyncResult): ExitCode {
  if (outcome === "complete") return 0;
  const isHeld = ({ error }: AccountReport) => firstThrown(error) instanceof AccountHeldError;
  const othersComplete =
    quarantined.length === 0 && reports.every((report) => isHeld(report) || isComplete(report));
  return othersComplete && reports.some(isHeld) ? 3 : 1;
}
