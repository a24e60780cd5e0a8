import { sql } from "drizzle-orm";
import type { Stream } from "../../sync/store.ts";
import type { Database } from "../connect.ts";

/** A bill's columns, each as the text that Postgres prints. */
export type BillText = {
  readonly billId: string;
  readonly symbol: string | null;
  readonly amount: string;
  readonly fee: string;
  readonly feeByCoupon: string | null;
  readonly businessType: string;
  readonly coin: string;
  readonly balance: string | null;
  readonly cTimeMs: string;
  readonly positionType: string | null;
  readonly positionAmount: string | null;
  readonly positionBalance: string | null;
  readonly extra: string | null;
};

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
      (extract(epoch from bills.c_time) * 1000)::bigint::text as "cTimeMs",
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
