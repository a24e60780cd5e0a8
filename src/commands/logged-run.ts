import { randomUUID } from "node:crypto";
import type { Database } from "../db/connect.ts";
import { beginRun, finishRun, forgetOldRuns } from "../db/run-log.ts";
import { messageOf } from "../errors.ts";
import { errorText, exitOfThrown, type RunExit } from "./exit-code.ts";

/** The end of a run, and what the run log keeps of it. */
export type LoggedEnd = RunExit & {
  readonly counts: object | null;
  /** All errors. Work that the user stopped is not an error. */
  readonly errors: readonly unknown[];
};

/**
 * Runs something that gets a row in `sync_runs`. The row records a run that throws as well as one
 * that ends. It stays "running" if the process is killed, or if the database is away at the end.
 *
 * @param notice is told if the end could not be written; the exit code is 1 then.
 * @returns the end of the run.
 * @throws what `run` throws.
 */
export async function loggedRun<End extends LoggedEnd>(
  { db, notice }: { readonly db: Database; readonly notice: (message: string) => void },
  command: string,
  run: (runId: string) => Promise<End>,
): Promise<End> {
  const runId = randomUUID();
  await beginRun(db, runId, command);
  const end = await run(runId).catch(async (error: unknown) => {
    const { outcome } = exitOfThrown(error);
    // The run's error matters more than a failure to write its row.
    await finishRun(db, runId, { outcome, counts: null, error: errorText([error]) }).catch(
      () => undefined,
    );
    throw error;
  });
  const { outcome, counts, errors } = end;
  try {
    await finishRun(db, runId, { outcome, counts, error: errorText(errors) });
  } catch (error) {
    // What the run did is told all the same.
    notice(`the end of the run could not be written into the run log: ${messageOf(error)}`);
    return { ...end, exitCode: 1 };
  }
  // The run is complete even if old runs cannot be deleted; tomorrow's run tries again.
  await forgetOldRuns(db).catch(() => undefined);
  return end;
}
