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
export const keptDays = 400;
/** The same where the table has more than a million runs, which 100,000 accounts add in half a day. */
const keptDaysOfMany = 7;
const manyRuns = 1_000_000;

// Runs are deleted in batches, so that no transaction is long. Each batch reads all rejected rows, which have
// no index on the run, so a batch is large: 100,000 accounts add two million runs a day.
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
  const days = await daysToKeep(db, runId);
  if (days === undefined) return 0;
  const last = await readLastRuns(db);
  let deleted = 0;
  let before: OldRun | undefined;
  for (let batch = 0; batch < batchesMax && !signal.aborted; batch++) {
    const old = await readOld(db, days, before);
    before = old.at(-1);
    if (before === undefined) break;
    const ids = old.map(({ run_id }) => run_id).filter((runId) => !last.has(runId));
    const named = await namedRuns(db, ids);
    const free = ids.filter((runId) => !named.has(runId));
    await db.execute(sql`delete from sync_runs where run_id = any(${textArray(free)}::uuid[])`);
    deleted += free.length;
  }
  return deleted;
}

/** Undefined where the run is not the first of its day. */
async function daysToKeep(db: Database, runId: string): Promise<number | undefined> {
  const { rows } = await db.execute<{ is_first: boolean; runs: number }>(sql`
    with own as (
      select started_at
      from sync_runs
      where run_id = ${runId}
    )
    select
      run_id = ${runId} as is_first,
      (select reltuples from pg_class where oid = 'sync_runs'::regclass) as runs
    from sync_runs
    where started_at >= date_trunc('day', (select started_at from own), 'UTC')
    order by started_at, run_id
    limit 1`);
  const { is_first, runs } = onlyRow(rows, "the first run of the day");
  if (!is_first) return undefined;
  return runs > manyRuns ? keptDaysOfMany : keptDays;
}

type OldRun = { readonly run_id: string; readonly started_at: string };

/**
 * The next batch of runs that are too old, newest first: those that stay for ever are most of the oldest
 * ones, and must not be all that the batches reach.
 */
async function readOld(db: Database, days: number, before?: OldRun): Promise<readonly OldRun[]> {
  const { rows } = await db.execute<OldRun>(sql`
    select run_id, ${timeText(sql`started_at`)} as started_at
    from sync_runs
    where sync_runs.started_at < statement_timestamp() - ${days} * interval '1 day'
      and (sync_runs.started_at, run_id) < (
        ${before?.started_at ?? "infinity"}::timestamptz,
        ${before?.run_id ?? "00000000-0000-0000-0000-000000000000"}::uuid
      )
    order by sync_runs.started_at desc, run_id desc
    limit ${batchRuns}`);
  return rows;
}

/** The last run of each command and outcome. */
async function readLastRuns(db: Database): Promise<ReadonlySet<string>> {
  const { rows } = await db.execute<{ run_id: string }>(sql`
    with recursive ${lastRuns}
    select run_id
    from last`);
  return new Set(rows.map(({ run_id }) => run_id));
}

/** The runs that a rejected row of any account names. */
async function namedRuns(db: Database, runs: readonly string[]): Promise<ReadonlySet<string>> {
  const ids = sql`${textArray(runs)}::uuid[]`;
  const { rows } = await db.execute<{ run_id: string }>(sql`
    select distinct run_id from rejected_bills where run_id = any(${ids})`);
  return new Set(rows.map(({ run_id }) => run_id));
}
