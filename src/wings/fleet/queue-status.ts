import { sql } from "drizzle-orm";
import type { QueueStatus } from "../../commands/io.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import { onlyRow } from "../../core/postgres/values.ts";

/** The schema of the queue's tables. */
export const queueSchema = "fleet";
/** The queue of accounts to sync. */
export const syncQueue = "sync";

/** The state of the workers' queue; undefined where there is none, or this role may not read it. */
export async function readQueue(db: Queryable): Promise<QueueStatus | undefined> {
  if (!(await isReadable(db))) return undefined;
  const { rows } = await db.execute<QueueStatus>(sql`
    select
      count(*) filter (where state in ('created', 'retry'))::int as waiting,
      count(*) filter (where state = 'active')::int as "atWork"
    from fleet.job
    where name = ${syncQueue}
      and state <= 'active'`);
  return onlyRow(rows, "the queue's counts");
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
