import { sql } from "drizzle-orm";
import type { Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";

/**
 * Every account that was ever synced or restored: a lease that is given back keeps its row. In a
 * distributed database, the coordinator has these names while a node is down.
 */
export async function readLeasedNames(db: Queryable): Promise<readonly string[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string }>(sql`
      select account
      from account_leases
      order by account`);
    return rows.map(({ account }) => account);
  });
}

/** Adds the accounts that have ledgers and no lease: a backup has no leases. */
export async function nameRestored(db: Queryable): Promise<void> {
  await db.execute(sql`
    insert into account_leases (account, holder, epoch, expires_at)
    select distinct account, '', 0, to_timestamp(0)
    from stream_times
    on conflict (account) do nothing`);
}
