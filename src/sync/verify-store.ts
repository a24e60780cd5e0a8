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

/** A served bill that is not stored, or is stored with different content. */
export type DifferingBill = {
  readonly bill: Bill;
  /** Undefined where it is not stored. */
  readonly changes: readonly FieldChange[] | undefined;
};

export type StoredBill = { readonly billId: string; readonly cTime: EpochMs };

export type Repair = {
  readonly stream: Stream;
  readonly differing: readonly DifferingBill[];
  readonly rejected: readonly RejectedRow[];
};

/** What a verification needs from a database, for one account that this run holds. */
export type VerifyStore = {
  /** The bills that are not stored exactly as given. `bills` must not contain a bill twice. */
  compare(stream: Stream, bills: readonly Bill[]): Promise<readonly DifferingBill[]>;
  /**
   * Why bills of which none is stored are not this stream's; undefined if nothing says so.
   * @param within the time of the bills' page.
   */
  whyForeign(stream: Stream, bills: readonly Bill[], within: Interval): Promise<string | undefined>;
  /** The stored bills of a window, in batches. */
  stored(stream: Stream, window: Interval): AsyncIterable<readonly StoredBill[]>;
  /** For each row, whether somebody signed it off. */
  accepted(stream: Stream, rows: readonly RejectedRow[]): Promise<readonly boolean[]>;
  /** Writes the differing bills and the rejected rows. Fails once another run has taken the account. */
  heal(repair: Repair): Promise<void>;
};
