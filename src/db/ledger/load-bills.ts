import { sql } from "drizzle-orm";
import { pageSizeMax } from "../../contract/account-bills.ts";
import { sortedJson } from "../../contract/json.ts";
import { type EpochMs, epochMs, isoTime } from "../../contract/time.ts";
import type { PageCommit } from "../../sync/store.ts";
import type { Transaction } from "../connect.ts";
import { textArray } from "../sql/array-literal.ts";
import { copyIn, copyValue } from "../sql/copy-in.ts";
import type { PlacedBill } from "./placed-bill.ts";

/**
 * The pages of which nothing is stored yet, and the database's time. The time is rounded to the
 * millisecond, as its column rounds it: a replay finds the bills that it stored by comparing their
 * time with that of its start, so theirs must not be the earlier one.
 */
export type FreshPages = { readonly pages: ReadonlySet<number>; readonly now: EpochMs };

// Only text like this is certain to be compared here as Postgres compares it.
const isPlain = /^[\x20-\x7e]+$/;

/**
 * Finds the pages between whose lowest and highest id no bill is stored: one index look-up a page,
 * instead of one for each of its bills and another one by the upsert. A page's ids lie close together,
 * so that in a backfill every page is fresh. Where they do not, a fresh page may count as stored, which
 * only costs time.
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
      copyValue(bill.positionType),
      bill.positionAmount ?? "\\N",
      bill.positionBalance ?? "\\N",
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
      balance, c_time, position_type, position_amount, position_balance, extra, ingested_at
    ) from stdin`,
    chunks,
  );
}
