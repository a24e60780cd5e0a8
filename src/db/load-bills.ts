import { sql } from "drizzle-orm";
import { pageSizeMax } from "../contract/account-bills.ts";
import { sortedJson } from "../contract/json.ts";
import { type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import type { PageCommit } from "../sync/store.ts";
import { textArray } from "./array-literal.ts";
import type { Transaction } from "./connect.ts";
import { copyIn, copyValue } from "./copy-in.ts";
import type { PlacedBill } from "./upsert-bills.ts";

/**
 * The pages of which nothing is stored yet, and the database's time, to the millisecond as a column
 * of it is rounded: a replay knows what it put in by no earlier a time than that of its beginning.
 */
export type FreshPages = { readonly pages: ReadonlySet<number>; readonly now: EpochMs };

// Here alone it is certain that text is compared as Postgres does.
const isPlain = /^[\x20-\x7e]+$/;

/**
 * Finds the pages between whose lowest and highest id no bill is stored: one look at the key a
 * page, instead of one for each of its bills and another one by the upsert.
 * A page's ids lie close together, so that in a backfill this is each page. Of ids that do not,
 * some page is called stored, which costs time and nothing else.
 */
export async function freshPages(
  tx: Transaction,
  pages: readonly Pick<PageCommit, "stream" | "bills">[],
): Promise<FreshPages> {
  const spans = pages.flatMap(({ stream, bills }, page) => {
    const [first] = bills;
    if (first === undefined || !bills.every(({ billId }) => isPlain.test(billId))) return [];
    let [lowest, highest] = [first.billId, first.billId];
    for (const { billId } of bills) {
      if (billId < lowest) lowest = billId;
      if (billId > highest) highest = billId;
    }
    return [{ page, ...stream, lowest, highest }];
  });
  if (spans.length === 0) return { pages: new Set(), now: epochMs(0) };
  const column = (pick: (span: (typeof spans)[number]) => string) => textArray(spans.map(pick));
  const { rows } = await tx.execute<{ page: number; now: string }>(sql`
    select page, extract(epoch from clock_timestamp()::timestamptz(3)) * 1000 as now
    from unnest(
      ${column(({ page }) => String(page))}::int[],
      ${column(({ account }) => account)}::text[],
      ${column(({ productType }) => productType)}::text[],
      ${column(({ lowest }) => lowest)}::text[],
      ${column(({ highest }) => highest)}::text[]
    ) as span (page, account, product_type, lowest, highest)
    left join lateral (
      select bills.account, bills.product_type, bills.bill_id
      from bills
      where (bills.account, bills.product_type, bills.bill_id)
        >= (span.account, span.product_type, span.lowest)
      order by bills.account, bills.product_type, bills.bill_id
      limit 1
    ) as next on true
    where next.bill_id is null
      or (next.account, next.product_type, next.bill_id)
        > (span.account, span.product_type, span.highest)`);
  return {
    pages: new Set(rows.map(({ page }) => page)),
    now: epochMs(Math.round(Number(rows[0]?.now ?? 0))),
  };
}

/** Stores distinct bills, of which none is stored. */
export async function loadBills(
  tx: Transaction,
  rows: readonly PlacedBill[],
  ingestedAt: EpochMs,
): Promise<void> {
  if (rows.length === 0) return;
  const ingested = isoTime(ingestedAt);
  const lineOf = ({ stream, bill }: PlacedBill) =>
    `${[
      copyValue(stream.account),
      copyValue(stream.productType),
      copyValue(bill.billId),
      copyValue(bill.symbol),
      bill.amount,
      bill.fee,
      bill.feeByCoupon ?? "\\N",
      copyValue(bill.businessType),
      copyValue(bill.coin),
      bill.balance ?? "\\N",
      isoTime(bill.cTime),
      bill.extra === null ? "\\N" : copyValue(sortedJson(bill.extra)),
      ingested,
    ].join("\t")}\n`;
  const chunks: string[] = [];
  for (let from = 0; from < rows.length; from += pageSizeMax) {
    const page = rows.slice(from, from + pageSizeMax);
    chunks.push(page.map(lineOf).join(""));
  }
  await copyIn(
    tx,
    `copy bills (
      account, product_type, bill_id, symbol, amount, fee, fee_by_coupon, business_type, coin,
      balance, c_time, extra, ingested_at
    ) from stdin`,
    chunks,
  );
}
