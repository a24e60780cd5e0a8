import { randomUUID } from "node:crypto";
import type { Database } from "../db/connect.ts";
import { beginRun, finishRun, forgetOldRuns } from "../db/run-log.ts";
import { errorText, exitOfThrown, type RunExit } from "./exit-code.ts";
import type { ExitCode } from "./io.ts";

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
 * @param run must report its result before it returns, because writing the run log may fail.
 * @throws what `run` throws.
 */
export async function loggedRun(
  db: Database,
  command: string,
  run: (runId: string) => Promise<LoggedEnd>,
): Promise<ExitCode> {
  const runId = randomUUID();
  await beginRun(db, runId, command);
  const { exitCode, outcome, counts, errors } = await run(runId).catch(async (error: unknown) => {
    const { outcome } = exitOfThrown(error);
    // The run's error matters more than a failure to write its row.
    await finishRun(db, runId, { outcome, counts: null, error: errorText([error]) }).catch(
      () => undefined,
    );
    throw error;
  });
  await finishRun(db, runId, { outcome, counts, error: errorText(errors) });
  // The run is complete even if old runs cannot be deleted; tomorrow's run tries again.
  await forgetOldRuns(db).catch(() => undefined);
  return exitCode;
}
