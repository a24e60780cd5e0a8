import { sql } from "drizzle-orm";
import type { Database, Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { isOneOf } from "../sql/one-of.ts";
import type { LeaseInUse } from "./lease-kind.ts";

/**
 * The exchange's user of each account, by name, as the last sync of it knew. Accounts of one user share
 * the user's rate limit.
 */
export type Users = ReadonlyMap<string, string>;

/** @param accounts only these; default all. */
export async function readUsers(db: Queryable, accounts?: readonly string[]): Promise<Users> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string; uid: string }>(sql`
      select account, uid
      from account_leases
      where uid is not null
        and ${isOneOf(accounts)}`);
    return new Map(rows.map(({ account, uid }) => [account, uid]));
  });
}

/**
 * The other accounts of an account's user, by name.
 * @param uid the user, if configured. Default the one that the last sync of the account knew.
 */
export async function readOthersOfUser(
  db: Queryable,
  account: string,
  uid?: string,
): Promise<readonly string[]> {
  const { rows } = await db.execute<{ account: string }>(sql`
    select account
    from account_leases
    where account <> ${account}
      and uid = coalesce(
        ${uid ?? null}::text,
        (select own.uid from account_leases as own where own.account = ${account})
      )
    order by account`);
  return rows.map((row) => row.account);
}

/** Records the user of an account whose sync lease is held; undefined where the user is not known. */
export async function recordUser(
  db: Database,
  { account, epoch }: Pick<LeaseInUse, "account" | "epoch">,
  uid: string | undefined,
): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      update account_leases
      set uid = ${uid ?? null}
      where account = ${account}
        and epoch = ${epoch}
        and uid is distinct from ${uid ?? null}`),
  );
}
