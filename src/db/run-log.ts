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

/**
 * A recursive table expression named `last`: the last run of each command and outcome in the log. Each step
 * looks up the next pair in the index. Queried by equality, Postgres scanned the whole log for each outcome
 * that was not in it: 13 s for a year's runs.
 */
export const lastRuns = sql`
  last as (
    (
      select command, outcome, run_id
      from sync_runs
      order by command desc, outcome desc, started_at desc
      limit 1
    )
    union all
    select before.command, before.outcome, before.run_id
    from last
    cross join lateral (
      select command, outcome, run_id
      from sync_runs
      where (command, outcome) < (last.command, last.outcome)
      order by command desc, outcome desc, started_at desc
      limit 1
    ) as before
  )`;
