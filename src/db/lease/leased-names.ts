import { sql } from "drizzle-orm";
import type { Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";

/** Every account that was ever synced: a lease that is given back keeps its row. */
export async function readLeasedNames(db: Queryable): Promise<readonly string[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string }>(sql`
      select account
      from account_leases
      order by account`);
    return rows.map(({ account }) => account);
  });
}
