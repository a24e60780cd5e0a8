import { eq, sql } from "drizzle-orm";
import type { Database } from "./connect.ts";
import { runs } from "./schema/schema.ts";

export type Outcome = Exclude<typeof runs.$inferSelect.outcome, "running">;

/** Records that a run begins, before it does anything. A run that is killed stays "running". */
export async function beginRun(db: Database, runId: string, command: string): Promise<void> {
  await db
    .insert(runs)
    .values({ runId, command, startedAt: sql`statement_timestamp()`, outcome: "running" });
}

/** Records how the run ended. */
export async function finishRun(
  db: Database,
  runId: string,
  result: { readonly outcome: Outcome; readonly counts: unknown; readonly error: string | null },
): Promise<void> {
  await db
    .update(runs)
    .set({ ...result, finishedAt: sql`statement_timestamp()` })
    .where(eq(runs.runId, runId));
}

/** How long a run is kept in `runs`. */
const keptDays = 400;
/** The same where the table has more than a million runs, which 100,000 accounts add in half a day. */
const keptDaysOfMany = 7;
const manyRuns = 1_000_000;
// So many at once, so that no transaction is long.
const forgottenMax = 10_000;

/** Deletes runs that are too old, but for the last of each command and outcome. @returns how many. */
export async function forgetOldRuns(db: Database): Promise<number> {
  const { rowCount } = await db.execute(sql`
    delete from runs
    where run_id in (
      select run_id
      from runs
      where started_at < statement_timestamp() - interval '1 day' * (
          select case when reltuples > ${manyRuns} then ${keptDaysOfMany}::int else ${keptDays} end
          from pg_class
          where oid = 'runs'::regclass
        )
        and exists (
          select 1
          from runs as later
          where later.command = runs.command
            and later.outcome = runs.outcome
            and later.started_at > runs.started_at
        )
      limit ${forgottenMax}
    )`);
  return rowCount ?? 0;
}
