import { type SQL, sql } from "drizzle-orm";

/**
 * Each account's flags: `is_demo`, `is_retired`. To be left joined `using (account)`.
 * @param isWanted which accounts.
 */
export const accountFlags = (isWanted: SQL): SQL => sql`(
        select
          account,
          is_demo,
          retired_at is not null as is_retired
        from ledgers
        where product_type = ''
          and ${isWanted}
      ) as account_flags`;

/**
 * Whether a row that is joined with its account, by {@link accountFlags} say, is of demo trading, which is no money:
 * its key is, or it is a live account's demo product, as `isDemoProductType` of src/core/contract/product-types.ts has it.
 * @param productType a column.
 */
export const isDemo = (productType: string): SQL =>
  sql.raw(`(coalesce(account_flags.is_demo, false) or ${productType} like 'S%-FUTURES')`);

/** Whether a row of `ledgers` is a ledger. Others are the state of a whole account, or of a ledger that was never read. */
export const isLedger = sql`(first_unread_at is not null or bills > 0)`;
