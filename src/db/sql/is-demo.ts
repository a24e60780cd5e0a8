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

const joinAccountText = `left join (
  select account, is_demo
  from streams
  where product_type = ''
) as whole using (account)`;

/**
 * Whether a row that is joined with its account is of demo trading, which is no money: its key is, or it is a
 * live account's demo product, as `isDemoProductType` of src/contract/product-types.ts has it.
 * @param productType a column.
 */
const isDemoText = (productType: string): string =>
  `(coalesce(whole.is_demo, false) or ${productType} like 'S%-FUTURES')`;

/** {@link isDemoText} of a row with {@link accountFlags}. */
export const isDemo = (productType: string): SQL => sql`${sql.raw(isDemoText(productType))}`;

/** The same for the files of views: `$join_account` joins the flag of an account's demo key to the rows of a view. */
export const flagWords = {
  join_account: joinAccountText,
  is_demo: isDemoText("product_type"),
  bills_is_demo: isDemoText("bills.product_type"),
  wallet_is_demo: isDemoText("wallet"),
};
