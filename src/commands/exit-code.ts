import { randomUUID } from "node:crypto";
import type { Database } from "../core/postgres/connect.ts";
import { beginRun, finishRun, forgetOldRuns, type Outcome } from "../core/postgres/run-log.ts";
import {
  AccountHeldError,
  ExchangeError,
  firstThrown,
  messageOf,
  StoppedError,
  UsageError,
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

/** Codes 2 and 3 tell the caller what would help, which is true only if nothing else went wrong. */
function exitCodeOf(errors: readonly unknown[]): Result["exit"] {
  if (errors.every((error) => error instanceof AccountHeldError)) return 3;
  const isKnown = (error: unknown) =>
    error instanceof AccountHeldError ||
    error instanceof UsageError ||
    (error instanceof ExchangeError && error.kind === "refused-credentials");
  return errors.every(isKnown) ? 2 : 1;
}

/** The run log's text of errors, each message once and stops left out. Null if nothing failed. */
export function errorText(errors: readonly unknown[]): string | null {
  const failed = errors.map(firstThrown).filter((error) => !(error instanceof StoppedError));
  return [...new Set(failed.map(messageOf))].join("; ") || null;
}

/**
 * Runs something that gets a row in `runs`. The row records a run that throws as well as one
 * that ends. It stays "running" if the process is killed, or if the database is away at the end.
 *
 * @param notice is told if the end could not be written; the exit code is 1 then.
 * @throws what `run` throws.
 */
export async function loggedRun<Done extends RunFacts & { readonly counts: object }>(
  { db, notice }: { readonly db: Database; readonly notice: (message: string) => void },
  command: string,
  run: (runId: string) => Promise<Done>,
): Promise<Done & RunExit> {
  const runId = randomUUID();
  await beginRun(db, runId, command);
  const done = await run(runId).catch(async (error: unknown) => {
    const { outcome } = exitOfThrown(error);
    // The run's error matters more than a failure to write its row.
    await finishRun(db, runId, { outcome, counts: null, error: errorText([error]) }).catch(
      () => undefined,
    );
    throw error;
  });
  const end = exitOf(done);
  try {
    const { counts, errors } = done;
    await finishRun(db, runId, { outcome: end.outcome, counts, error: errorText(errors) });
  } catch (error) {
    // What the run did is told all the same.
    notice(`the end of the run could not be written into the run log: ${messageOf(error)}`);
    return { ...done, ...end, exitCode: 1 };
  }
  // The run is complete even if old runs cannot be deleted; tomorrow's run tries again.
  await forgetOldRuns(db).catch(() => undefined);
  return { ...done, ...end };
}
