import { sql } from "drizzle-orm";
import { pageSizeMax } from "../contract/account-bills.ts";
import { sortedJson } from "../contract/json.ts";
import { type EpochMs, isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { copyIn, copyValue } from "../db/sql/copy-in.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import type { PageCommit } from "../sync/store.ts";
import type { PlacedBill } from "./placed-bill.ts";

/**
 * The database's time, rounded to the millisecond as the column `ingested_at` rounds it. A replay finds
 * the bills that it stored by comparing their time with that of its start, so theirs must not be earlier.
 * The statement names no table: one that does may run on another node of a distributed database, and
 * read that node's clock.
 */
export async function readNow(tx: Transaction): Promise<EpochMs> {
  const { rows } = await tx.execute<{ now: string }>(
    sql`select ${msOf(sql`clock_timestamp()::timestamptz(3)`)} as now`,
  );
  return timeFrom(onlyRow(rows, "the database's time").now);
}

// JavaScript is certain to compare only such text as Postgres does.
const isPlain = /^[\x20-\x7e]+$/;

/**
 * Finds the pages of an account between whose lowest and highest id no bill is stored. That is one index
 * look-up a page, instead of one for each of its bills and another one by the upsert. A page's ids are
 * close together, so that in a backfill every page is found fresh. Where ids are far apart, a fresh page
 * may count as stored, which only costs time.
 */
export async function freshPages(
  tx: Transaction,
  account: string,
  pages: readonly Pick<PageCommit, "stream" | "bills">[],
): Promise<ReadonlySet<number>> {
  const spans = pages.flatMap(({ stream, bills }, page) => {
    const [first] = bills;
    if (first === undefined || !bills.every(({ billId }) => isPlain.test(billId))) return [];
    let [lowest, highest] = [first.billId, first.billId];
    for (const { billId } of bills) {
      if (billId < lowest) lowest = billId;
      if (billId > highest) highest = billId;
    }
    return [{ page, productType: stream.productType, lowest, highest }];
  });
  if (spans.length === 0) return new Set();
  const column = (pick: (span: (typeof spans)[number]) => string) => textArray(spans.map(pick));
  const { rows } = await tx.execute<{ page: number }>(sql`
    select page
    from unnest(
      ${column(({ page }) => String(page))}::int[],
      ${column(({ productType }) => productType)}::text[],
      ${column(({ lowest }) => lowest)}::text[],
      ${column(({ highest }) => highest)}::text[]
    ) as span (page, product_type, lowest, highest)
    left join lateral (
      select bills.product_type, bills.bill_id
      from bills
      where bills.account = ${account}
        and (bills.product_type, bills.bill_id) >= (span.product_type, span.lowest)
      order by bills.product_type, bills.bill_id
      limit 1
    ) as next on true
    where next.bill_id is null
      or (next.product_type, next.bill_id) > (span.product_type, span.highest)`);
  return new Set(rows.map(({ page }) => page));
}

/** Stores distinct bills that are not stored yet. */
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
