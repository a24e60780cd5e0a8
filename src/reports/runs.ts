import { sql } from "drizzle-orm";
import { type EpochMs, minuteMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";

/** A row of the run log. Its times are the database's. */
export type LoggedRun = {
  readonly command: string;
  readonly startedAt: EpochMs;
  readonly finishedAt: EpochMs | undefined;
  readonly outcome: "running" | "complete" | "incomplete" | "stopped" | "failed" | "held";
  readonly error: string | null;
  readonly counts: unknown;
};

/** The runs since a time, newest first, limited to a number. */
export function readRuns(
  db: Queryable,
  { since, runsMax }: { readonly since: EpochMs; readonly runsMax: number },
): Promise<readonly LoggedRun[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      command: string;
      started_at: string;
      finished_at: string | null;
      outcome: LoggedRun["outcome"];
      error: string | null;
      counts: unknown;
    }>(sql`
      select
        command,
        ${msOf(sql`started_at`)} as started_at,
        ${msOf(sql`finished_at`)} as finished_at,
        outcome,
        error,
        -- Counts of other runs are not shown, and a year of them is long.
        case when outcome <> 'complete' then counts end as counts
      from sync_runs
      where started_at >= to_timestamp(${since / 1_000}::float8)
      order by started_at desc
      limit ${runsMax}`);
    return rows.map(({ started_at, finished_at, ...run }) => ({
      ...run,
      startedAt: timeFrom(started_at),
      finishedAt: timeFrom(finished_at),
    }));
  });
}

/** The last sync that was not held back by another; undefined if there was none. */
export async function readLastSync(
  db: Queryable,
): Promise<Pick<LoggedRun, "startedAt" | "finishedAt" | "outcome"> | undefined> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      started_at: string;
      finished_at: string | null;
      outcome: LoggedRun["outcome"];
    }>(sql`
      select
        ${msOf(sql`started_at`)} as started_at,
        ${msOf(sql`finished_at`)} as finished_at,
        outcome
      from sync_runs
      where command = 'sync'
        and outcome <> 'held'
      order by started_at desc
      limit 1`);
    const [row] = rows;
    return (
      row && {
        startedAt: timeFrom(row.started_at),
        finishedAt: timeFrom(row.finished_at),
        outcome: row.outcome,
      }
    );
  });
}

// A run that was killed stays "running" in the log. One that is alive takes a lease within this time.
const silentMaxMs = 2 * minuteMs;

/** Whether a sync has not ended that began within the last two minutes, or while any account is held. */
export function isSyncAtWork(db: Queryable): Promise<boolean> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ is_at_work: boolean }>(sql`
      with recent as (
        select clock_timestamp() - ${silentMaxMs} * interval '1 ms' as since
      )
      select exists (
        select 1
        from sync_runs, recent
        where command = 'sync'
          and outcome = 'running'
          and (
            started_at > since
            or exists (
              select 1
              from leases
              where holder <> ''
                and expires_at > clock_timestamp()
            )
          )
      ) as is_at_work`);
    return rows[0]?.is_at_work ?? false;
  });
}
