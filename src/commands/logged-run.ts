import { randomUUID } from "node:crypto";
import type { Database } from "../core/postgres/connect.ts";
import { beginRun, finishRun, forgetOldRuns } from "../core/postgres/run-log.ts";
import { messageOf } from "../lib/errors.ts";
import { errorText, exitOf, exitOfThrown, type RunExit, type RunFacts } from "./exit-code.ts";

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
