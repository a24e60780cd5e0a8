import { type SQL, sql } from "drizzle-orm";

/**
 * `isDemoProductType` of src/contract/product-types.ts in SQL: of a live account's demo products.
 * @param productType a column.
 */
export const isDemoProductTypeText = (productType: string): string =>
  `(${productType} like 'S%-FUTURES')`;

/**
 * The accounts of rows with what is decided of them as a whole: `is_demo`, `is_paused`, `is_retired`. To be
 * left joined `using (account)`. @param isWanted which accounts.
 */
export const accountFlags = (isWanted: SQL): SQL => sql`(
        select
          account,
          is_demo,
          paused_at is not null as is_paused,
          retired_at is not null as is_retired
        from streams
        where product_type = ''
          and ${isWanted}
      ) as whole`;

/** Whether a row with {@link accountFlags} is of demo trading, which is no money. @param productType a column. */
export const isDemo = (productType: string): SQL =>
  sql`(coalesce(whole.is_demo, false) or ${sql.raw(isDemoProductTypeText(productType))})`;
