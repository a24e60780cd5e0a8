import { sql } from "drizzle-orm";
import type { Database, Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";
import { isOneOf } from "../sql/one-of.ts";
import { isUserKey } from "./lease.ts";

/**
 * Every account that was ever synced or restored: a lease that is given back keeps its row. In a
 * distributed database, the coordinator has these names while a node is down.
 */
export async function readLeasedNames(db: Queryable): Promise<readonly string[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string }>(sql`
      select account
      from leases
      where not ${isUserKey}
      order by account`);
    return rows.map(({ account }) => account);
  });
}

/** Adds the accounts that have ledgers and no lease: a backup has no leases. */
export async function nameRestored(db: Queryable): Promise<void> {
  await db.execute(sql`
    insert into leases (account, holder, epoch, expires_at)
    select distinct account, '', 0, to_timestamp(0)
    from streams
    on conflict (account) do nothing`);
}

/**
 * The exchange's user of each account, by name, where he is configured or has several accounts here, which share
 * his rate limit.
 */
export type Users = ReadonlyMap<string, string>;

/** @param accounts only these; default all. */
export async function readUsers(db: Queryable, accounts?: readonly string[]): Promise<Users> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string; uid: string }>(sql`
      select account, uid
      from leases
      where uid is not null
        and ${isOneOf(accounts)}`);
    return new Map(rows.map(({ account, uid }) => [account, uid]));
  });
}

/** Records the user of these accounts; undefined where nothing is to be shared. */
export async function recordUser(
  db: Database,
  accounts: readonly string[],
  uid: string | undefined,
): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      update leases
      set uid = ${uid ?? null}
      where account = any(${textArray(accounts)}::text[])
        and uid is distinct from ${uid ?? null}`),
  );
}
