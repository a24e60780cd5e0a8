import { sql } from "drizzle-orm";
import type { BillText } from "../../contract/bill.ts";
import { nonFinancialTypes } from "../../contract/business-types.ts";
import { type EpochMs, epochMs, isoTime } from "../../contract/time.ts";
import type { Stream } from "../../sync/store.ts";
import type { Queryable } from "../connect.ts";
import { billTextColumns } from "./stored-bills.ts";

export type BillPageQuestion = {
  readonly stream: Stream;
  /** Both inclusive. */
  readonly from: EpochMs | undefined;
  readonly to: EpochMs | undefined;
  /** A stored bill's id: what is older is asked for. Of one that is not stored, nothing is. */
  readonly below: string | undefined;
  readonly symbol: string | undefined;
  readonly coin: string | undefined;
  readonly businessType: string | undefined;
  /** Whether the types that move margin inside of the account are left out. */
  readonly onlyFunding: boolean;
  readonly limit: number;
};

/** When a bill was made; undefined where it is not stored. */
export async function readBillTime(
  db: Queryable,
  { account, productType }: Stream,
  billId: string,
): Promise<EpochMs | undefined> {
  const { rows } = await db.execute<{ time: string }>(sql`
    select extract(epoch from c_time) * 1000 as time
    from bills
    where account = ${account}
      and product_type = ${productType}
      and bill_id = ${billId}`);
  const [row] = rows;
  return row && epochMs(Number(row.time));
}

/** Bills, newest first; those of one millisecond by falling ids, which are numbers of any length. */
export async function readBillPage(
  db: Queryable,
  { stream, from, to, below, limit, ...only }: BillPageQuestion,
): Promise<readonly BillText[]> {
  const { symbol, coin, businessType, onlyFunding } = only;
  const isOf = sql`account = ${stream.account} and product_type = ${stream.productType}`;
  const cursorTime = sql`(select c_time from bills where ${isOf} and bill_id = ${below})`;
  const conditions = [
    isOf,
    ...(from === undefined ? [] : [sql`c_time >= ${isoTime(from)}`]),
    ...(to === undefined ? [] : [sql`c_time <= ${isoTime(to)}`]),
    ...(below === undefined
      ? []
      : [
          // By itself, so that the index begins there.
          sql`c_time <= ${cursorTime}`,
          sql`(c_time, length(bill_id), bill_id)
        < (${cursorTime}, ${below.length}, ${below} collate "C")`,
        ]),
    ...(symbol === undefined ? [] : [sql`symbol = ${symbol}`]),
    ...(coin === undefined ? [] : [sql`coin = ${coin}`]),
    ...(businessType === undefined ? [] : [sql`business_type = ${businessType}`]),
    ...(onlyFunding ? [sql`business_type not in ${nonFinancialTypes}`] : []),
  ];
  const { rows } = await db.execute<BillText>(sql`
    select ${billTextColumns}
    from bills
    where ${sql.join(conditions, sql` and `)}
    order by c_time desc, length(bill_id) desc, bill_id desc
    limit ${limit}`);
  return rows;
}
