import { sql } from "drizzle-orm";
import type { ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import type { Database } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { productTypesOf } from "../db/sql/wallet.ts";
import { lastGoodProductType, type Scope, within, withWholeWallets } from "./scope.ts";

export type BrokenSpan = {
  readonly account: string;
  readonly productType: ProductType;
  readonly from: EpochMs;
  readonly to: EpochMs;
};

/**
 * The spans of time around the open breaks of balances: from the last good bill to the first bad one, both
 * included. Overlapping spans are merged.
 */
export function readBrokenSpans(db: Database, scope: Scope): Promise<readonly BrokenSpan[]> {
  const { accounts, productTypes } = withWholeWallets(scope);
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      account: string;
      product_type: ProductType;
      from_ms: string;
      to_ms: string;
    }>(sql`
      with spans as (
        select
          broken.account,
          member as product_type,
          unnest(
            range_agg(
              tstzrange(
                least(
                  coalesce(good.c_time, broken.happened_at - interval '1 hour'),
                  broken.happened_at
                ) - ${bookedMaxOf("broken.product_type")},
                greatest(good.c_time, broken.happened_at) + interval '1 millisecond'
              )
            )
          ) as span
        from ledger_breaks as broken
        -- The missing bill may belong to any product type of the wallet.
        cross join lateral unnest(${productTypesOf("broken.product_type")}) as member
        left join bills as good
          on good.account = broken.account
          and good.product_type = ${lastGoodProductType("broken")}
          and good.bill_id = broken.last_good_bill
        where state = 'open'
          and first_bad_bill is not null
          and ${within("broken.account", accounts)}
          and ${within("broken.product_type", productTypes)}
        group by broken.account, member
      )
      select
        account,
        product_type,
        ${msOf(sql`lower(span)`)} as from_ms,
        ${msOf(sql`upper(span)`)} as to_ms
      from spans
      order by account, product_type, span`);
    return rows.map((row) => ({
      account: row.account,
      productType: row.product_type,
      from: timeFrom(row.from_ms),
      to: timeFrom(row.to_ms),
    }));
  });
}
