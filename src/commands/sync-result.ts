import type { Outcome } from "../db/run-log.ts";
import { AccountHeldError, firstThrown, StoppedError } from "../errors.ts";
import type { Quarantined } from "../reports/quarantine.ts";
import { type AccountReport, isComplete } from "../sync/run.ts";
import type { SymbolsReport } from "../sync/symbols.ts";
import type { ExitCode } from "./io.ts";

/** What a run did. */
export type SyncRun = {
  readonly runId: string;
  /** Undefined where symbols were not asked for. */
  readonly symbols: SymbolsReport | undefined;
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
  return { ...run, quarantined, outcome: outcomeOf({ ...run, quarantined }) };
}

function outcomeOf({ symbols, reports, quarantined }: SyncRun): Outcome {
  const errors = [
    symbols?.error,
    ...reports.flatMap(({ error, loanToValue, streams }) => [
      error,
      ...[...loanToValue, ...streams].map((part) => part.error),
    ]),
  ];
  if (errors.some((error) => firstThrown(error) instanceof StoppedError)) return "stopped";
  if (reports.every(isComplete) && areComplete(symbols)) {
    // A row in quarantine is none of the ledger's: without it, the ledger is not complete.
    return quarantined.length === 0 ? "complete" : "incomplete";
  }
  if (reports.length > 0 && reports.every(isHeld) && symbols?.error === undefined) return "held";
  const nothingDone =
    reports.length === 0
      ? symbols?.stored === undefined
      : reports.every(({ error }) => error !== undefined);
  return nothingDone ? "failed" : "incomplete";
}

const isHeld = ({ error }: AccountReport): boolean =>
  firstThrown(error) instanceof AccountHeldError;

const areComplete = (symbols: SymbolsReport | undefined): boolean =>
  symbols === undefined || (symbols.error === undefined && symbols.broken.length === 0);

export function exitCodeOf({ symbols, reports, quarantined, outcome }: SyncResult): ExitCode {
  if (outcome === "complete") return 0;
  const othersComplete =
    quarantined.length === 0 &&
    areComplete(symbols) &&
    reports.every((report) => isHeld(report) || isComplete(report));
  return othersComplete && reports.some(isHeld) ? 3 : 1;
}
