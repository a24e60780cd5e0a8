import { type SQL, sql } from "drizzle-orm";
import type { Queryable } from "../../core/postgres/connect.ts";
import type { Outcome } from "../../core/postgres/run-log.ts";
import { msOf, timeFrom } from "../../core/postgres/values.ts";
import { type EpochMs, minuteMs } from "../../lib/time.ts";

/** A row of the run log. Its times are the database's. */
export type LoggedRun = {
  readonly command: string;
  readonly startedAt: EpochMs;
  readonly finishedAt: EpochMs | undefined;
  readonly outcome: Outcome | "running";
  readonly error: string | null;
};

type Row = Omit<LoggedRun, "startedAt" | "finishedAt"> & {
  readonly startedAt: string;
  readonly finishedAt: string | null;
};

/** The newest runs of those that a condition on `runs` selects. */
export async function readRuns(
  db: Queryable,
  condition: SQL,
  limit: number,
): Promise<readonly LoggedRun[]> {
  const { rows } = await db.execute<Row>(sql`
    select
      command,
      ${msOf(sql`started_at`)} as "startedAt",
      ${msOf(sql`finished_at`)} as "finishedAt",
      outcome,
      error
    from runs
    where ${condition}
    order by started_at desc
    limit ${limit}`);
  return rows.map(({ startedAt, finishedAt, ...run }) => ({
    ...run,
    startedAt: timeFrom(startedAt),
    finishedAt: timeFrom(finishedAt),
  }));
}

/** Of the run log: a sync that was not held back by another. */
export const isUnhinderedSync = sql`command = 'sync' and outcome <> 'held'`;

// A run that was killed stays "running" in the log, and its leases expire. One that was given back expires in 1 s.
const beginMaxMs = 2 * minuteMs;

/** Whether a sync has not ended that holds an account, or that began within the last two minutes. */
export const isSyncAtWork = sql`exists (
          select 1
          from runs
          where command = 'sync'
            and outcome = 'running'
            and (
              started_at > clock_timestamp() - ${beginMaxMs} * interval '1 ms'
              or exists (
                select 1
                from leases
                where expires_at > clock_timestamp() + interval '1 s'
              )
            )
        )`;

/** The last sync that was not held back by another. A check after it would hide how it ended. */
export async function readLastSync(db: Queryable): Promise<LoggedRun | undefined> {
  return (await readRuns(db, isUnhinderedSync, 1))[0];
}
