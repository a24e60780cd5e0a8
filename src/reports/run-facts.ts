import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { loggedCommands, type Outcome } from "../db/run-log.ts";
import { syncRuns } from "../db/schema/schema.ts";
import { textArray } from "../db/sql/array-literal.ts";

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

/** One for each command and outcome that there was: an index has them, however long the log is. */
export async function readRunFacts(db: Queryable): Promise<readonly RunFacts[]> {
  const { rows } = await db.execute<{
    command: string;
    outcome: RunFacts["outcome"];
    at: string;
    duration: string | null;
    requests: string | null;
  }>(sql`
    select
      run.command,
      run.outcome,
      extract(epoch from coalesce(finished_at, started_at)) * 1000 as at,
      extract(epoch from finished_at - started_at) * 1000 as duration,
      (
        select sum(value::numeric)
        from jsonb_path_query(counts, 'strict $.**.requests') as value
      ) as requests
    from unnest(${textArray(loggedCommands)}::text[]) as commands (command)
    cross join unnest(${textArray(syncRuns.outcome.enumValues)}::text[]) as outcomes (outcome)
    cross join lateral (
      select sync_runs.*
      from sync_runs
      where sync_runs.command = commands.command
        and sync_runs.outcome = outcomes.outcome
      order by started_at desc
      limit 1
    ) as run
    order by run.command, run.outcome`);
  return rows.map(({ at, duration, requests, ...run }) => ({
    ...run,
    at: epochMs(Math.floor(Number(at))),
    durationMs: duration === null ? undefined : Number(duration),
    requests: requests === null ? undefined : Number(requests),
  }));
}
