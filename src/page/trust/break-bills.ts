import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { withDatabaseErrors } from "../../db/database-errors.ts";
import type { Break } from "../../reconciliation/breaks.ts";

/** A bill near a break, and whether its balance follows from the bill before it. */
export type ChainedBill = {
  readonly billId: string;
  readonly time: EpochMs;
  readonly businessType: string;
  readonly symbol: string;
  readonly net: string;
  readonly balanceBefore: string | null;
  readonly balanceAfter: string | null;
  readonly difference: string | null;
};

// How many bills are shown before the bill that shows the break, and after it.
const before = 3;
const after = 2;

/**
 * The bills around the bill that shows a break, on its UTC day. None if the break names no bill.
 */
export async function readBreakBills(
  tx: Transaction,
  { account, productType, coin, happenedAt, firstBadBill }: Break,
): Promise<readonly ChainedBill[]> {
  if (firstBadBill === null || happenedAt === null) return [];
  const { rows } = await withDatabaseErrors(() =>
    tx.execute<Omit<ChainedBill, "time"> & { readonly ms: string }>(sql`
      with chain as materialized (
        select
          bill_id,
          c_time,
          business_type,
          symbol,
          net,
          balance_before,
          balance_after,
          difference,
          position
        from analytics.activity
        where account = ${account}
          and wallet = ${productType}
          and coin = ${coin}
          and day = (${happenedAt}::timestamptz at time zone 'UTC')::date
      )
      select
        bill_id as "billId",
        extract(epoch from c_time) * 1000 as ms,
        business_type as "businessType",
        coalesce(symbol, '') as symbol,
        net::text,
        balance_before::text as "balanceBefore",
        balance_after::text as "balanceAfter",
        difference::text
      from chain
      where position between
        (select min(position) - ${before} from chain where bill_id = ${firstBadBill})
        and (select min(position) + ${after} from chain where bill_id = ${firstBadBill})
      order by position`),
  );
  return rows.map(({ ms, ...bill }) => ({ ...bill, time: epochMs(Number(ms)) }));
}
