import { stringify } from "csv-stringify/sync";
import { isoTime } from "../contract/time.ts";
import type { BillPages, Chunks, ExportedBill } from "./bill.ts";

const columns: readonly (readonly [string, (bill: ExportedBill) => string | null])[] = [
  ["account", ({ account }) => account],
  ["product_type", ({ productType }) => productType],
  ["bill_id", ({ billId }) => billId],
  ["symbol", ({ symbol }) => symbol],
  ["amount", ({ amount }) => amount],
  ["fee", ({ fee }) => fee],
  ["fee_by_coupon", ({ feeByCoupon }) => feeByCoupon],
  ["business_type", ({ businessType }) => businessType],
  ["coin", ({ coin }) => coin],
  ["balance", ({ balance }) => balance],
  ["c_time", ({ cTime }) => isoTime(cTime)],
  ["extra", ({ extra }) => extra],
  ["ingested_at", ({ ingestedAt }) => isoTime(ingestedAt)],
];

/**
 * RFC 4180 in UTF-8, with a header: the columns of `bills`, every decimal letter for letter as
 * Postgres prints it, times as ISO 8601 in UTC with milliseconds, and NULL as an empty field.
 */
export async function* toCsv(pages: BillPages): Chunks {
  yield csvLines([columns.map(([name]) => name)]);
  for await (const bills of pages) {
    yield csvLines(bills.map((bill) => columns.map(([, read]) => read(bill))));
  }
}

/** Lines of RFC 4180. A line feed alone is quoted too, which the library leaves to its user. */
export const csvLines = (rows: readonly (readonly (string | null)[])[]): string =>
  stringify(rows as (string | null)[][], { record_delimiter: "windows", quoted_match: /[\r\n]/ });
