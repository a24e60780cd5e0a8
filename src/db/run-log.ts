import { eq, sql } from "drizzle-orm";
import type { Database } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { syncRuns } from "./schema/schema.ts";

export type Outcome = Exclude<typeof syncRuns.$inferSelect.outcome, "running">;

/** Records that a run begins, before it does anything. A run that is killed stays "running". */
export async function beginRun(db: Database, runId: string, command: string): Promise<void> {
  await withDatabaseErrors(() =>
    db
      .insert(syncRuns)
      .values({ runId, command, startedAt: sql`statement_timestamp()`, outcome: "running" }),
  );
}

/** Records how the run ended. */
export async function finishRun(
  db: Database,
  runId: string,
  result: { readonly outcome: Outcome; readonly counts: unknown; readonly error: string | null },
): Promise<void> {
  await withDatabaseErrors(() =>
    db
      .update(syncRuns)
      .set({ ...result, finishedAt: sql`statement_timestamp()` })
      .where(eq(syncRuns.runId, runId)),
  );
}
