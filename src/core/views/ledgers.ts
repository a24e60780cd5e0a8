import { type SQL, sql } from "drizzle-orm";

/** The accounts that are retired whole: their flag `is_retired`. To be left joined `using (account)`. */
export const accountFlags = (isWanted: SQL): SQL => sql`(
        select account, retired_at is not null as is_retired
        from ledgers
        where product_type = ''
          and ${isWanted}
      ) as account_flags`;

/** Whether a row of `ledgers` is a ledger. Others are the state of a whole account, or of a ledger that was never read. */
export const isLedger = sql`(first_unread_at is not null or bills > 0)`;
