import type { Outcome } from "../db/run-log.ts";
import { AccountHeldError, firstThrown, messageOf, StoppedError, UsageError } from "../errors.ts";
import type { ExitCode } from "./io.ts";

/** What became of a run, as far as its outcome goes by it. */
export type RunFacts = {
  /** All that failed, whatever it ended: the run, an account, a piece of one. */
  readonly errors: readonly unknown[];
  /** Whether something is open although it did not fail: a difference, a broken row, lost time. */
  readonly isOpen: boolean;
  /** Whether anything was done of what the run is for. */
  readonly isAnythingDone: boolean;
};

/** How a run ends: for the run log, and for whoever started it. */
export type RunExit = { readonly outcome: Outcome; readonly exitCode: ExitCode };

/** The one rule for every command's exit code and for every outcome in the run log. */
export function exitOf({ errors: thrown, isOpen, isAnythingDone }: RunFacts): RunExit {
  const errors = thrown.map(firstThrown);
  if (errors.some((error) => error instanceof StoppedError)) {
    return { outcome: "stopped", exitCode: 1 };
  }
  if (errors.length === 0) {
    return isOpen ? { outcome: "incomplete", exitCode: 1 } : { outcome: "complete", exitCode: 0 };
  }
  const isHeld = errors.every((error) => error instanceof AccountHeldError);
  const nothingDone = isHeld ? "held" : "failed";
  return {
    outcome: isAnythingDone ? "incomplete" : nothingDone,
    exitCode: isOpen ? 1 : exitCodeOf(errors),
  };
}

/** The end of a run that threw, or never began. */
export const exitOfThrown = (error: unknown): RunExit =>
  exitOf({ errors: [error], isOpen: false, isAnythingDone: false });

/** 2 and 3 say what would help: that holds only where nothing else went wrong. */
function exitCodeOf(errors: readonly unknown[]): ExitCode {
  if (errors.every((error) => error instanceof AccountHeldError)) return 3;
  const isKnown = (error: unknown) =>
    error instanceof AccountHeldError || error instanceof UsageError;
  return errors.every(isKnown) ? 2 : 1;
}

/** What the run log says of errors: each message once, none for a stop; null where nothing failed. */
export function errorText(errors: readonly unknown[]): string | null {
  const failed = errors.map(firstThrown).filter((error) => !(error instanceof StoppedError));
  return [...new Set(failed.map(messageOf))].join("; ") || null;
}
