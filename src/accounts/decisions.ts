import { sql } from "drizzle-orm";
import type { ProductType } from "../core/contract/product-types.ts";
import type { Database, Queryable } from "../core/postgres/connect.ts";
import { withDatabaseErrors } from "../core/postgres/database-errors.ts";
import { addedAccounts } from "../core/postgres/schema/accounts-schema.ts";
import { isOneOf } from "../core/postgres/values.ts";

// What a user decides of an account. Rows stay when a decision is undone: no role may delete them.

type Decision = "paused_at" | "retired_at";

/** Decides it as of now. What is decided already keeps its time. */
async function decide(
  db: Database,
  decision: Decision,
  account: string,
  productType: ProductType | "",
): Promise<void> {
  const column = sql.identifier(decision);
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into ledgers as stored (account, product_type, ${column})
      values (${account}, ${productType}, statement_timestamp())
      on conflict (account, product_type) do update
      set ${column} = excluded.${column}
      where stored.${column} is null`),
  );
}

/** @param productType undefined for all. @returns whether it was decided. */
async function undo(
  db: Database,
  decision: Decision,
  account: string,
  productType: ProductType | undefined,
): Promise<boolean> {
  const column = sql.identifier(decision);
  return withDatabaseErrors(async () => {
    const { rowCount } = await db.execute(sql`
      update ledgers
      set ${column} = null
      where account = ${account}
        and (${productType ?? null}::text is null or product_type = ${productType ?? null})
        and ${column} is not null`);
    return (rowCount ?? 0) > 0;
  });
}

/** No sync reads the account. The exchange's 90 days run on. */
export const pause = (db: Database, account: string) => decide(db, "paused_at", account, "");

/** @returns whether it was paused. */
export const resume = (db: Database, account: string) => undo(db, "paused_at", account, undefined);

/** No sync reads the account, or the product type, any more, and nothing of it counts as missing. */
export const retire = (db: Database, account: string, productType?: ProductType) =>
  decide(db, "retired_at", account, productType ?? "");

/** @returns whether the product type, or anything of the account, was retired by itself. */
export const unretire = (db: Database, account: string, productType?: ProductType) =>
  undo(db, "retired_at", account, productType);

/** Records whether an account's key is for demo trading. */
export async function recordDemo(db: Database, account: string, isDemo: boolean): Promise<void> {
  await withDatabaseErrors(() =>
    isDemo
      ? db.execute(sql`
          insert into ledgers as stored (account, product_type, is_demo)
          values (${account}, '', true)
          on conflict (account, product_type) do update
          set is_demo = true
          where not stored.is_demo`)
      : db.execute(sql`
          update ledgers
          set is_demo = false
          where account = ${account}
            and product_type = ''
            and is_demo`),
  );
}

/** A row of the table `added_accounts`. */
export type AddedAccount = typeof addedAccounts.$inferSelect;

/** @returns false where the account was added before; its row then stays as it is. */
export const addAccount = (db: Database, account: AddedAccount): Promise<boolean> =>
  withDatabaseErrors(async () => {
    const { rowCount } = await db.insert(addedAccounts).values(account).onConflictDoNothing();
    return rowCount === 1;
  });

/** The added accounts, in the order of their names. @param names only these; default all. */
export const readAddedAccounts = (
  db: Queryable,
  names?: readonly string[],
): Promise<readonly AddedAccount[]> =>
  withDatabaseErrors(() =>
    db.select().from(addedAccounts).where(isOneOf(names)).orderBy(addedAccounts.account),
  );
