import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import type { Outcome } from "../db/run-log.ts";

/** The last run of a command that ended so, or is at work. */
export type RunFacts = {
  readonly command: string;
  readonly outcome: Outcome | "running";
  /** By the database's clock: when it ended, or began where it did not end. */
  readonly at: EpochMs;
  /** Undefined where it did not end. */
  readonly durationMs: number | undefined;
  /** For bills, symbols and contracts; undefined where the run wrote no counts down. */
  readonly requests: number | undefined;
};

/**
 * One for each command and outcome that there was. Each step looks up the next one in the index: asked for
 * by equality, Postgres went through the whole log where an outcome was not in it, 13 s for a year's runs.
 */
export async function readRunFacts(db: Queryable): Promise<readonly RunFacts[]> {
  const { rows } = await db.execute<{
    command: string;
    outcome: RunFacts["outcome"];
    at: string;
    duration: string | null;
    requests: string | null;
  }>(sql`
    with recursive last as (
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
    )
    select
      run.command,
      run.outcome,
      extract(epoch from coalesce(finished_at, started_at)) * 1000 as at,
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
    at: epochMs(Math.floor(Number(at))),
    durationMs: duration === null ? undefined : Number(duration),
    requests: requests === null ? undefined : Number(requests),
  }));
}
