import type { Outcome } from "../core/postgres/run-log.ts";
import {
  AccountHeldError,
  firstThrown,
  messageOf,
  ReportableError,
  StoppedError,
} from "../lib/errors.ts";
import type { Result } from "../output/result.ts";

/** The facts of a run that decide its outcome. */
export type RunFacts = {
  /** All errors, whether they ended the run, an account or a part of one. */
  readonly errors: readonly unknown[];
  /** Whether anything is open without an error: a difference, a broken row, lost time. */
  readonly isIncomplete: boolean;
  /** Whether any of the run's work was done. */
  readonly didWork: boolean;
};

/** How a run ends: the outcome for the run log, and the exit code for the caller. */
export type RunExit = { readonly outcome: Outcome; readonly exitCode: Result["exit"] };

/** The only rule for the exit codes of commands and the outcomes in the run log. */
export function exitOf({ errors: thrown, isIncomplete, didWork }: RunFacts): RunExit {
  const errors = thrown.map(firstThrown);
  if (errors.some((error) => error instanceof StoppedError)) {
    return { outcome: "stopped", exitCode: 1 };
  }
  if (errors.length === 0) {
    return isIncomplete
      ? { outcome: "incomplete", exitCode: 1 }
      : { outcome: "complete", exitCode: 0 };
  }
  const isHeld = errors.every((error) => error instanceof AccountHeldError);
  const nothingDone = isHeld ? "held" : "failed";
  return {
    outcome: didWork ? "incomplete" : nothingDone,
    exitCode: isIncomplete ? 1 : exitCodeOf(errors),
  };
}

/** The end of a run that threw an error, or never began. */
export const exitOfThrown = (error: unknown): RunExit =>
  exitOf({ errors: [error], isIncomplete: false, didWork: false });

/** The smallest: what helps against one error is of no use where another one is left. */
const exitCodeOf = (errors: readonly unknown[]): Result["exit"] =>
  errors
    .map((error) => (error instanceof ReportableError ? error.exitCode : 1))
    .reduce((least, code) => (code < least ? code : least));

/** The run log's text of errors, each message once and stops left out. Null if nothing failed. */
export function errorText(errors: readonly unknown[]): string | null {
  const failed = errors.map(firstThrown).filter((error) => !(error instanceof StoppedError));
  return [...new Set(failed.map(messageOf))].join("; ") || null;
}
