import { sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { lastRuns, type Outcome } from "../db/run-log.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";

/** The last run of a command with some outcome; "running" is one. */
export type RunFacts = {
  readonly command: string;
  readonly outcome: Outcome | "running";
  /** By the database's clock: when the run ended, or, where it has not, when it began. */
  readonly at: EpochMs;
  /** Undefined where the run has not ended. */
  readonly durationMs: number | undefined;
  /** Requests for bills, symbols and contracts; undefined where the run stored no counts. */
  readonly requests: number | undefined;
};

/** The last run of each command and outcome in the log. */
export async function readRunFacts(db: Queryable): Promise<readonly RunFacts[]> {
  const { rows } = await db.execute<{
    command: string;
    outcome: RunFacts["outcome"];
    at: string;
    duration: string | null;
    requests: string | null;
  }>(sql`
    with recursive ${lastRuns}
    select
      run.command,
      run.outcome,
      ${msOf(sql`coalesce(finished_at, started_at)`)} as at,
      extract(epoch from finished_at - started_at) * 1000 as duration,
      (
        select sum(value::numeric)
        from jsonb_path_query(counts, 'strict $.**.requests') as value
      ) as requests
    from last
    join sync_runs as run using (run_id)
    order by run.command, run.outcome`);
  return rows.map(({ at, duration, requests, ...run }) => ({
    ...run,
    at: timeFrom(at),
    durationMs: duration === null ? undefined : Number(duration),
    requests: requests === null ? undefined : Number(requests),
  }));
}
