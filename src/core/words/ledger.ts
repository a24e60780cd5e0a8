import type { EpochMs } from "../../lib/time.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { Interval } from "./intervals.ts";

/** One account and one product type, which together have a ledger of their own. */
export type Ledger = { readonly account: string; readonly productType: ProductType };

/** A window that is to be read, and how far an earlier run read it. */
export type PlannedWindow = {
  readonly window: Interval;
  /** The id below which the walk continues; absent where it begins with the newest page. */
  readonly cursor?: string;
  /** The exchange's time when the first page was asked for. */
  readonly startedAt?: EpochMs;
  /**
   * Whether the ledger's history starts in this window, so that nothing older was ever wanted. If the window's
   * oldest part expires, up to `startSlackMs`, the history starts later, and nothing counts as lost.
   */
  readonly isLedgerStart?: boolean;
  /**
   * The older time that is asked for, too: bills of it show that the walk has passed its window, which was handed back by
   * another walk. Default the window's.
   */
  readonly askFrom?: EpochMs;
};

/** What is stored about a ledger's time. */
export type KnownTime = {
  /** The time that is proven complete. */
  readonly coverage: readonly Interval[];
  /** The time that was recorded as lost: it became older than the horizon before it was read. */
  readonly lost: readonly Interval[];
  /** The windows that earlier runs planned or began, and did not finish. */
  readonly open: readonly PlannedWindow[];
  /** The time that was recovered from tax records. Default none. */
  readonly recovered?: readonly Interval[];
};

/** The windows of a ledger that a run is going to read. */
export type LedgerPlan = {
  readonly ledger: Ledger;
  /** Oldest first: the oldest time expires first. */
  readonly windows: readonly PlannedWindow[];
  /** The exchange's time of the plan. */
  readonly plannedAt: EpochMs;
  /** The wanted time that became older than the horizon since the last run. */
  readonly lost: readonly Interval[];
  /**
   * Coverage behind this time is unread again; undefined where all of it stays. The exchange's clock was ahead in an
   * earlier run if coverage reaches past its time of today, and it has shown a bill that is not stored.
   */
  readonly uncoverFrom?: EpochMs | undefined;
};
