import { sql } from "drizzle-orm";
import type { Queryable } from "../../postgres/connect.ts";
import { isOneOf } from "../../postgres/values.ts";

/** The exchange's user of each account, by name, where he has several accounts here, which share his rate limit. */
export async function readSharedUsers(
  db: Queryable,
  accounts?: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.execute<{ account: string; userId: string }>(sql`
    select distinct account, user_id as "userId"
    from account_users
    where user_id in (
      select user_id
      from account_users
      group by user_id
      having count(distinct account) > 1
    )
      and ${isOneOf(accounts)}`);
  return new Map(rows.map(({ account, userId }) => [account, userId]));
}
