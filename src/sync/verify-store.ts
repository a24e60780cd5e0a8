import type { Bill } from "../contract/bill.ts";
import type { EpochMs } from "../contract/time.ts";
import type { Interval } from "./intervals.ts";
import type { RejectedRow, Stream } from "./store.ts";

/** A field of a bill whose stored value differs from the served one; both as text. */
export type FieldChange = {
  readonly field: string;
  readonly stored: string | null;
  readonly served: string | null;
};

/** The stored content of a bill when it was compared. */
export type StoredContent = {
  /** The database's time when the content was stored, as text. A repair requires that it is still the same. */
  readonly ingestedAt: string;
  /** Whether it was stored after the reading began, so that it may be newer than what was served. */
  readonly isLate: boolean;
  readonly fields: readonly FieldChange[];
};

/** A served bill that is not stored, or is stored with different content. */
export type DifferingBill = { readonly bill: Bill; readonly stored: StoredContent | undefined };

export type StoredBill = {
  readonly billId: string;
  readonly cTime: EpochMs;
  /** Whether it was stored after the reading began. */
  readonly isLate: boolean;
};

export type Repair = {
  readonly stream: Stream;
  readonly differing: readonly DifferingBill[];
  readonly rejected: readonly RejectedRow[];
};

/** What a verification needs from a database. Every `since` is a time that `now` returned. */
export type VerifyStore = {
  /** The database's time, as text. */
  now(): Promise<string>;
  /** The bills that are not stored exactly as given. `bills` must not contain a bill twice. */
  compare(stream: Stream, bills: readonly Bill[], since: string): Promise<readonly DifferingBill[]>;
  /** The stored bills of a window, in batches. */
  stored(stream: Stream, window: Interval, since: string): AsyncIterable<readonly StoredBill[]>;
  /** For each row, whether somebody signed it off. */
  accepted(stream: Stream, rows: readonly RejectedRow[]): Promise<readonly boolean[]>;
  /**
   * Writes the differing bills, if what is stored is still what they were compared with, and stores the
   * rejected rows.
   * @returns the ids of the bills that were written.
   */
  heal(repair: Repair): Promise<ReadonlySet<string>>;
};
