import type { Bill } from "../contract/bill.ts";
import { type Category, isCategory } from "../contract/business-types.ts";
import type { EpochMs } from "../contract/time.ts";
import type { DayOf } from "./days.ts";

/** A stored bill, each decimal as the text that Postgres prints. */
export type ExportedBill = Omit<Bill, "extra"> & {
  readonly account: string;
  readonly productType: string;
  /** JSON text. */
  readonly extra: string | null;
  readonly ingestedAt: EpochMs;
  readonly category: Category;
  /** The part of the amount that moves the wallet, as `reconcile` learned it of the category. */
  readonly walletAmount: string;
  /** The part of the fee, and of what a coupon paid, that moves the wallet. */
  readonly walletFee: string;
};

/**
 * The bills in the order of the export: account, wallet, time, and within a millisecond the
 * order in which the balance moved, as `reconcile` found it, else the id as a number.
 */
export type BillPages = AsyncIterable<readonly ExportedBill[]>;

/** What an export is made of, in the order in which it is written. */
export type Chunks = AsyncIterable<string | Uint8Array>;

/** A wallet whose account is of the other kind by now: the exchange no longer serves it. */
export type Closing = {
  readonly account: string;
  readonly wallet: string;
  /** The exchange's time when a run was first told so. */
  readonly at: EpochMs;
};

export type FormatOptions = {
  /** The day that a journal dates a bill by. Default UTC's. */
  readonly dayOf?: DayOf;
  /** That of these days. Default UTC. */
  readonly zone?: string;
  /**
   * The bills that stand in files which a journal continues: they are booked, and not written. The
   * other bills begin with a day.
   */
  readonly before?: BillPages;
  /** In the time of these bills; a journal takes what is left in such a wallet out of it. */
  readonly closings?: readonly Closing[];
};

export type Format = (pages: BillPages, options?: FormatOptions) => Chunks;

/** A category that the database names and this program does not know is no reason to lose a bill. */
export const categoryOf = (text: string | null): Category =>
  text !== null && isCategory(text) ? text : "unknown";
