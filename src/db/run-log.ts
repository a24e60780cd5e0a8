import { eq, sql } from "drizzle-orm";
import type { Database } from "./connect.ts";
import { lacksRight, withDatabaseErrors } from "./database-errors.ts";
import { syncRuns } from "./schema/schema.ts";
import { textArray } from "./sql/array-literal.ts";
import { onlyRow } from "./sql/only-row.ts";
import { timeText } from "./sql/time-text.ts";

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

/** How long a run is kept in `sync_runs`. */
const keptDays = 400;
/** The same where the table has more than a million runs, which 100,000 accounts add in half a day. */
const keptDaysOfMany = 7;
const manyRuns = 1_000_000;

// Runs are deleted in batches, so that no transaction is long: 100,000 accounts add two million runs a day.
const batchRuns = 100_000;
const batchesMax = 100;

/**
 * Deletes runs that are too old, where this is the first run of the UTC day on which it began. Other runs
 * may be at work beside it. Two kinds of runs stay at any age: the last of each command and outcome, and those
 * that a rejected row names.
 *
 * @returns how many were deleted; 0 where the database's user may not.
 */
export async function forgetOldRuns(
  db: Database,
  runId: string,
  signal: AbortSignal,
): Promise<number> {
  try {
    return await withDatabaseErrors(() => forget(db, runId, signal));
  } catch (error) {
    if (lacksRight(error)) return 0;
    throw error;
  }
}

async function forget(db: Database, runId: string, signal: AbortSignal): Promise<number> {
  const end = await readEnd(db, runId);
  if (end === undefined) return 0;
  const { rows } = await db.execute<{ run_id: string }>(sql`
    select distinct run_id
    from rejected_bills`);
  const named = textArray(rows.map(({ run_id }) => run_id));
  let deleted = 0;
  for (let batch = 0; batch < batchesMax && !signal.aborted; batch++) {
    const { rowCount } = await db.execute(sql`
      with recursive ${lastRuns}
      delete from sync_runs
      where run_id in (
        select run_id
        from sync_runs
        where started_at < ${end}
          and run_id <> all(${named}::uuid[])
          and run_id not in (select run_id from last)
        limit ${batchRuns}
      )`);
    deleted += rowCount ?? 0;
    if (rowCount !== batchRuns) break;
  }
  return deleted;
}

/** The time before which runs are too old; undefined where the run is not the first of its day. */
async function readEnd(db: Database, runId: string): Promise<string | undefined> {
  const { rows } = await db.execute<{ is_first: boolean; end: string }>(sql`
    with own as (
      select started_at
      from sync_runs
      where run_id = ${runId}
    ),
    table_size as (
      select case when reltuples > ${manyRuns} then ${keptDaysOfMany}::int else ${keptDays} end as days
      from pg_class
      where oid = 'sync_runs'::regclass
    )
    select
      run_id = ${runId} as is_first,
      ${timeText(sql`(statement_timestamp() - (select days from table_size) * interval '1 day')`)} as end
    from sync_runs
    where started_at >= date_trunc('day', (select started_at from own), 'UTC')
    order by started_at, run_id
    limit 1`);
  const { is_first, end } = onlyRow(rows, "the first run of the day");
  return is_first ? end : undefined;
}
