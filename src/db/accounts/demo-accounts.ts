import { sql } from "drizzle-orm";
import type { Database, Queryable } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { isOneOf } from "../sql/one-of.ts";

/** Records whether an account's key is for demo trading. Its product types have the names of real ones. */
export async function recordDemo(db: Database, account: string, isDemo: boolean): Promise<void> {
  await withDatabaseErrors(() =>
    isDemo
      ? db.execute(sql`
          insert into streams as known (account, product_type, is_demo)
          values (${account}, '', true)
          on conflict (account, product_type) do update
          set is_demo = true
          where not known.is_demo`)
      : db.execute(sql`
          update streams
          set is_demo = false
          where account = ${account}
            and product_type = ''
            and is_demo`),
  );
}

/** Those of these accounts that are of demo trading, by their names. Default of all. */
export async function readDemoAccounts(
  db: Queryable,
  accounts?: readonly string[],
): Promise<ReadonlySet<string>> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string }>(sql`
      select account
      from streams
      where product_type = ''
        and is_demo
        and ${isOneOf(accounts)}`);
    return new Set(rows.map(({ account }) => account));
  });
}
