import { randomUUID } from "node:crypto";
import type { Database } from "../db/connect.ts";
import { beginRun, finishRun } from "../db/run-log.ts";
import { forgetOldRuns } from "../db/run-retention.ts";
import { errorText, exitOfThrown, type RunExit } from "./exit-code.ts";
import type { ExitCode } from "./io.ts";

/** What a run has come to, and what the run log keeps of it. */
export type LoggedEnd = RunExit & {
  readonly counts: object | null;
  /** All that failed; what the user stopped has not. */
  readonly errors: readonly unknown[];
};

/**
 * Does something that has a row in `sync_runs`. A run that throws is written down as well as one
 * that ends; one that is killed, or whose database is away at its end, stays "running".
 *
 * @param signal ends the deletion of runs that are too old.
 * @param run tells what it did before it comes back: the run log may fail.
 * @throws what `run` throws.
 */
export async function loggedRun(
  db: Database,
  command: string,
  run: (runId: string) => Promise<LoggedEnd>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const runId = randomUUID();
  await beginRun(db, runId, command);
  const { exitCode, outcome, counts, errors } = await run(runId).catch(async (error: unknown) => {
    const { outcome } = exitOfThrown(error);
    // What was thrown says more than that its row could not be written.
    await finishRun(db, runId, { outcome, counts: null, error: errorText([error]) }).catch(
      () => undefined,
    );
    throw error;
  });
  await finishRun(db, runId, { outcome, counts, error: errorText(errors) });
  // The run is done whatever becomes of older ones; tomorrow's tries again.
  await forgetOldRuns(db, signal).catch(() => undefined);
  return exitCode;
}
