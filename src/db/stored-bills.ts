import { sql } from "drizzle-orm";
import type { Stream } from "../sync/store.ts";
import type { Database } from "./connect.ts";

/** A stream's bills, each column as the text that Postgres prints. */
export async function readStoredBills(db: Database, { account, productType }: Stream) {
  const { rows } = await db.execute<{
    billId: string;
    symbol: string | null;
    amount: string;
    fee: string;
    feeByCoupon: string | null;
    businessType: string;
    coin: string;
    balance: string | null;
    cTimeMs: string;
    extra: string | null;
  }>(sql`
    select
      bill_id as "billId",
      symbol,
      amount::text,
      fee::text,
      fee_by_coupon::text as "feeByCoupon",
      business_type as "businessType",
      coin,
      balance::text,
      (extract(epoch from c_time) * 1000)::bigint::text as "cTimeMs",
      extra::text
    from bills
    where account = ${account}
      and product_type = ${productType}
    order by c_time, bill_id`);
  return rows;
}
