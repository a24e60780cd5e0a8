import type { Bill } from "../contract/bill.ts";
import type { EpochMs } from "../contract/time.ts";
import type { Interval } from "./intervals.ts";
import type { RejectedRow, Stream } from "./store.ts";

/** A field of a bill that is stored otherwise than it is served; both as text. */
export type FieldChange = {
  readonly field: string;
  readonly stored: string | null;
  readonly served: string | null;
};

/** What was stored of a bill when it was compared. */
export type StoredContent = {
  /** When it was stored, the database's time as text: what a repair must still find. */
  readonly ingestedAt: string;
  /** Stored since the reading began: it may be newer than what was read. */
  readonly isLate: boolean;
  readonly fields: readonly FieldChange[];
};

/** A served bill that is not stored, or stored otherwise. */
export type DifferingBill = { readonly bill: Bill; readonly stored: StoredContent | undefined };

/** A bill that is stored. */
export type StoredBill = {
  readonly billId: string;
  readonly cTime: EpochMs;
  /** Stored since the reading began. */
  readonly isLate: boolean;
};

export type Repair = {
  readonly stream: Stream;
  readonly differing: readonly DifferingBill[];
  readonly rejected: readonly RejectedRow[];
};

/** What a verification needs of a database. `since` is a time of `now`. */
export type VerifyStore = {
  /** The database's time, as text. */
  now(): Promise<string>;
  /** Those of the bills, none of them twice, that are not stored just so. */
  compare(stream: Stream, bills: readonly Bill[], since: string): Promise<readonly DifferingBill[]>;
  /** What is stored of a window, in batches. */
  stored(stream: Stream, window: Interval, since: string): AsyncIterable<readonly StoredBill[]>;
  /** For each of the rows, whether somebody signed it off. */
  accepted(stream: Stream, rows: readonly RejectedRow[]): Promise<readonly boolean[]>;
  /**
   * Writes what differs, where the stored is still what it was compared with, and keeps the
   * rejected rows.
   * @returns the ids of the bills that were written.
   */
  heal(repair: Repair): Promise<ReadonlySet<string>>;
};
