import type { Bill } from "../contract/bill.ts";
import { businessTypes, type Category } from "../contract/business-types.ts";
import type { EpochMs } from "../contract/time.ts";

/** A stored bill, each decimal as the text that Postgres prints. */
export type ExportedBill = Omit<Bill, "extra"> & {
  readonly account: string;
  readonly productType: string;
  /** JSON text. */
  readonly extra: string | null;
  readonly ingestedAt: EpochMs;
  readonly category: Category;
};

/** The bills in the order of the export: account, product type, time, and the id as a number. */
export type BillPages = AsyncIterable<readonly ExportedBill[]>;

/** What an export is made of, in the order in which it is written. */
export type Chunks = AsyncIterable<string | Uint8Array>;

export type Format = (pages: BillPages) => Chunks;

const categories = new Set<string>(businessTypes.map(({ category }) => category));

/** A category that the database names and this program does not know is no reason to lose a bill. */
export const categoryOf = (text: string | null): Category =>
  text !== null && categories.has(text) ? (text as Category) : "unknown";
