import type { Bill } from "../../core/contract/bill.ts";
import { type Category, isCategory } from "../../core/contract/business-types.ts";
import { add, type Decimal, decimalOf } from "../../lib/decimal.ts";
import type { EpochMs } from "../../lib/time.ts";

/** By how much a bill changes the balance of its coin. */
export const balanceChange = ({
  walletAmount,
  walletFee,
}: Pick<ExportedBill, "walletAmount" | "walletFee">): Decimal =>
  add(decimalOf(walletAmount), decimalOf(walletFee));

/** A stored bill, each decimal as the text that Postgres prints. */
export type ExportedBill = Omit<Bill, "extra"> & {
  readonly account: string;
  readonly productType: string;
  /** JSON text. */
  readonly extra: string | null;
  readonly ingestedAt: EpochMs;
  readonly category: Category;
  /** The part of the amount that moves the wallet, by the rule that `reconcile` has learned. */
  readonly walletAmount: string;
  /** The part of the fee and of what a coupon paid that moves the wallet, by the same rule. */
  readonly walletFee: string;
};

/**
 * The bills in the order of the export: account, wallet, time, and within a millisecond the id as a number.
 */
export type BillPages = AsyncIterable<readonly ExportedBill[]>;

/** The content of an export, in the order in which it is written. */
export type Chunks = AsyncIterable<string | Uint8Array>;

/** A wallet whose account has changed its mode, so that the exchange no longer serves the wallet. */
export type WalletEnd = {
  readonly account: string;
  readonly wallet: string;
  /** The exchange's time when a run first noticed. */
  readonly at: EpochMs;
};

/** A wallet's balance of a coin when a journal begins. */
export type Opening = {
  readonly account: string;
  readonly wallet: string;
  readonly coin: string;
  readonly balance: string;
  readonly at: EpochMs;
};

export type FormatOptions = {
  /** Whose clock dates a bill. Default UTC. */
  readonly zone?: string;
  /**
   * The bills in the files that this journal continues. They count for its balances, but are not written
   * again. The other bills start at the beginning of a day.
   */
  readonly before?: BillPages;
  /** The wallets that ended in the time of these bills. A journal books what is left in one out of it. */
  readonly walletEnds?: readonly WalletEnd[];
  /** With them, a journal opens at its start, not at each coin's first bill. */
  readonly openings?: readonly Opening[];
  /** The first day of a journal that continues others: openings of earlier days are in those. */
  readonly startDay?: string;
  /** Of accounts that were renamed: the name under which their bills were first stored. */
  readonly firstNames?: ReadonlyMap<string, string>;
};

export type Format = (pages: BillPages, options?: FormatOptions) => Chunks;

/** A category of the database. One that this program does not know counts as unclassified, so that no bill is lost. */
export const knownCategory = (text: string | null): Category =>
  text !== null && isCategory(text) ? text : "unclassified";
