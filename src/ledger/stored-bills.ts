import { sql } from "drizzle-orm";
import type { BillText } from "../contract/bill.ts";
import type { Database } from "../db/connect.ts";
import { msOf } from "../db/sql/time-text.ts";
import type { Stream } from "../sync/store.ts";

/** What to select of `bills` for a {@link BillText}. */
export const billTextColumns = sql`
      bills.bill_id as "billId",
      bills.symbol,
      bills.amount::text,
      bills.fee::text,
      bills.fee_by_coupon::text as "feeByCoupon",
      bills.business_type as "businessType",
      bills.coin,
      bills.balance::text,
      ${msOf(sql`bills.c_time`)} as "cTimeMs",
      bills.position_type as "positionType",
      bills.position_amount::text as "positionAmount",
      bills.position_balance::text as "positionBalance",
      bills.extra::text`;

/** A stream's bills, oldest first. */
export async function readStoredBills(
  db: Database,
  { account, productType }: Stream,
): Promise<readonly BillText[]> {
  const { rows } = await db.execute<BillText>(sql`
    select ${billTextColumns}
    from bills
    where account = ${account}
      and product_type = ${productType}
    order by c_time, bill_id`);
  return rows;
}
