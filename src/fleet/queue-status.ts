import { sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";

/** The schema of the queue's tables. */
export const queueSchema = "fleet";
/** The queue of accounts to sync. */
export const syncQueue = "sync";
/** The queue for jobs that have failed for good. */
export const failedQueue = "failed";

export type QueueStatus = {
  readonly waiting: number;
  readonly atWork: number;
  /** Jobs that have failed for good, and were not done by a later round; the oldest first. */
  readonly failed: readonly FailedJob[];
};

export type FailedJob = {
  /** The account; `:reconcile ACCOUNT` for a check of it, `:lists` for the public lists. */
  readonly name: string;
  readonly failedAt: EpochMs;
  readonly why: string;
};

/** The state of the workers' queue; undefined where there is none, or this role may not read it. */
export async function readQueue(db: Queryable): Promise<QueueStatus | undefined> {
  return withDatabaseErrors(async () => {
    if (!(await isReadable(db))) return undefined;
    const { rows } = await db.execute<{ waiting: number; at_work: number }>(sql`
      select
        count(*) filter (where state in ('created', 'retry'))::int as waiting,
        count(*) filter (where state = 'active')::int as at_work
      from fleet.job
      where name = ${syncQueue}
        and state <= 'active'`);
    const { waiting, at_work: atWork } = onlyRow(rows, "the queue's counts");
    return { waiting, atWork, failed: await readFailed(db) };
  });
}

async function isReadable(db: Queryable): Promise<boolean> {
  const { rows } = await db.execute(sql`
    select 1
    from pg_class as tables
    join pg_namespace as schemas on schemas.oid = tables.relnamespace
    where schemas.nspname = ${queueSchema}
      and tables.relname = 'job'
      and has_schema_privilege(schemas.oid, 'usage')
      and has_table_privilege(tables.oid, 'select')`);
  return rows.length > 0;
}

/** The newest failure of each account. Where a worker fell silent, the queue itself gave the job up. */
async function readFailed(db: Queryable): Promise<readonly FailedJob[]> {
  const { rows } = await db.execute<{ name: string; failed_at_ms: string; why: string }>(sql`
    select
      name,
      ${msOf(sql`created_on`)} as failed_at_ms,
      why
    from (
      select distinct on (singleton_key)
        singleton_key as name,
        created_on,
        coalesce(
          data ->> 'why',
          source_output ->> 'why',
          source_output #>> '{value,message}',
          'no reason was kept'
        ) as why
      from fleet.job
      where name = ${failedQueue}
      order by singleton_key, created_on desc
    ) as newest
    order by created_on, name`);
  return rows.map(({ name, failed_at_ms, why }) => ({
    name,
    failedAt: timeFrom(failed_at_ms),
    why,
  }));
}
