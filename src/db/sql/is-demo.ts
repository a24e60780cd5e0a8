import { type SQL, sql } from "drizzle-orm";

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

/**
 * Whether a row that is joined with its account, by {@link accountFlags} say, is of demo trading, which is no money:
 * its key is, or it is a live account's demo product, as `isDemoProductType` of src/contract/product-types.ts has it.
 * @param productType a column.
 */
export const isDemo = (productType: string): SQL =>
  sql.raw(`(coalesce(whole.is_demo, false) or ${productType} like 'S%-FUTURES')`);

/** The same for the files of views: `$join_account` joins the flag of an account's demo key to the rows of a view. */
export const flagWords = {
  join_account: sql`left join (
  select account, is_demo
  from streams
  where product_type = ''
) as whole using (account)`,
  is_demo: isDemo("product_type"),
  bills_is_demo: isDemo("bills.product_type"),
  wallet_is_demo: isDemo("wallet"),
};
