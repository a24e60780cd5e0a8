import { sql } from "drizzle-orm";
import type { ProductType } from "../core/contract/product-types.ts";
import type { Database } from "../core/postgres/connect.ts";
import { withDatabaseErrors } from "../core/postgres/database-errors.ts";

// What a user decides of an account. Rows stay when a decision is undone: no role may delete them.

/**
 * No sync reads the account, or the product type, any more, and nothing of it counts as missing. What is retired already
 * keeps its time.
 */
export async function retire(
  db: Database,
  account: string,
  productType?: ProductType,
): Promise<void> {
  await withDatabaseErrors(() =>
    db.execute(sql`
      insert into ledgers as stored (account, product_type, retired_at)
      values (${account}, ${productType ?? ""}, statement_timestamp())
      on conflict (account, product_type) do update
      set retired_at = excluded.retired_at
      where stored.retired_at is null`),
  );
}

/** @returns whether the product type, or anything of the account, was retired by itself. */
export async function undoRetire(
  db: Database,
  account: string,
  productType?: ProductType,
): Promise<boolean> {
  return withDatabaseErrors(async () => {
    const { rowCount } = await db.execute(sql`
      update ledgers
      set retired_at = null
      where account = ${account}
        and (${productType ?? null}::text is null or product_type = ${productType ?? null})
        and retired_at is not null`);
    return (rowCount ?? 0) > 0;
  });
}
