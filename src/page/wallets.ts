import { sql } from "drizzle-orm";
import { readRetirements, retiredSince } from "../db/accounts/retirement.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import type { Wallet } from "./selection.ts";

// Of a wallet that a first sync is still reading, no day is stored yet: so many of its newest bills
// tell its coins.
const newestBills = 10_000;

/** The coins that can be selected, by account and product. */
export async function readWallets(db: Queryable): Promise<readonly Wallet[]> {
  return withDatabaseErrors(async () => {
    const retirements = await readRetirements(db);
    const { rows } = await db.execute<{
      account: string;
      product: string;
      coin: string;
      bills: string;
    }>(sql`
      with stored as (
        select
          account,
          wallet,
          coin,
          sum(bills) as bills
        from ledger_days
        group by account, wallet, coin
      ),
      fresh as (
        select distinct streams.account, streams.product_type
        from bill_counts as streams
        where bills > 0
          and not exists (
            select 1
            from stored
            where stored.account = streams.account
              and stored.wallet = case when product_type like 'UTA-%' then 'UTA' else product_type end
          )
      )
      select account, wallet as product, coin, bills
      from stored
      union all
      select
        fresh.account,
        case when product_type like 'UTA-%' then 'UTA' else product_type end,
        coin,
        sum(newest.bills)
      from fresh
      cross join lateral (
        select coin, count(*) as bills
        from (
          select coin
          from bills
          where bills.account = fresh.account
            and bills.product_type = fresh.product_type
          order by c_time desc
          limit ${newestBills}
        ) as newest
        group by coin
      ) as newest
      group by 1, 2, 3
      order by account, product, bills desc, coin`);
    return rows.map((row) => ({
      ...row,
      bills: Number(row.bills),
      isRetired: retiredSince(retirements, { ...row, productType: row.product }) !== undefined,
    }));
  });
}
