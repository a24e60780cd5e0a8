import type { Bill } from "../contract/bill.ts";
import type { RowFault } from "../contract/json.ts";
import type { LoanToValue } from "../contract/loan-to-value.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { SymbolSettings } from "../contract/symbols.ts";
import type { EpochMs } from "../contract/time.ts";
import type { Interval } from "./intervals.ts";

/** One account and one product type: a ledger of its own. */
export type Stream = { readonly account: string; readonly productType: ProductType };

/** How far a window was walked: what a resume needs. */
export type Walk = {
  readonly window: Interval;
  /** The id below which the walk goes on; absent where it begins with the newest page. */
  readonly cursor?: string;
  /** The exchange's time when the first page was asked for. */
  readonly startedAt?: EpochMs;
  /**
   * Nothing older was ever wanted: what the horizon takes of the window, if it is no more than a
   * slack, is where the ledger's history starts, not a loss.
   */
  readonly isHistoryStart?: boolean;
};

/** What the store knows of a stream's time. */
export type KnownTime = {
  /** Proven complete. */
  readonly coverage: readonly Interval[];
  /** Lost behind the horizon, and recorded as lost. */
  readonly expired: readonly Interval[];
  /** Planned or begun by earlier runs, and not finished. */
  readonly open: readonly Walk[];
};

/** A row that broke the contract. */
export type RejectedRow = {
  readonly received: unknown;
  /** As it was written in the answer. */
  readonly text: string;
  readonly fault: RowFault;
};

/** What a walk knows at its end, beyond which nothing is claimed. */
export type WalkEnd = {
  /** The time that is now complete; empty where it is all too recent to be settled. */
  readonly proven: readonly Interval[];
  /** The time that fell behind the horizon before it was read. */
  readonly expired: readonly Interval[];
};

/** A page and all that it changes: committed together or not at all. */
export type PageCommit = {
  readonly stream: Stream;
  readonly window: Interval;
  readonly startedAt: EpochMs;
  /** Where the window stood before the page: the `cursor` of the page before. */
  readonly after: string | undefined;
  /** What `Store.time` said before the page was asked for; undefined where it was not asked. */
  readonly askedAfter?: string | undefined;
  readonly bills: readonly Bill[];
  readonly rejected: readonly RejectedRow[];
  /**
   * Where the window stands now (see resume-place.ts), or what its walk proved.
   */
  readonly next: { readonly cursor: string | undefined } | { readonly end: WalkEnd };
};

export type PageCounts = {
  readonly new: number;
  readonly unchanged: number;
  readonly restated: number;
  readonly rejected: number;
};

/** The windows of a stream that a run sets out to walk. */
export type StreamPlan = {
  readonly stream: Stream;
  /** Oldest first: the oldest expires first. */
  readonly walks: readonly Walk[];
  /** Wanted time that fell behind the horizon since the last run. */
  readonly expired: readonly Interval[];
};

/** One risk unit's record, as it was at the exchange's time `takenAt`. */
export type LoanToValueCommit = {
  readonly account: string;
  /** As it was asked for: undefined for the account's own. */
  readonly riskUnitId: string | undefined;
  readonly takenAt: EpochMs;
  readonly record: LoanToValue;
};

/** What a record was to those before it; `outdated`: a newer one is stored, this one is not. */
export type LoanToValueChange = "first" | "changed" | "unchanged" | "outdated";

/** All pairs, as they were at the exchange's time `readAt`. */
export type SymbolList = {
  readonly readAt: EpochMs;
  /** No pair twice. */
  readonly settings: readonly SymbolSettings[];
  /** Pairs that are listed, whose rows could not be read: they stay as they are. */
  readonly unread: readonly string[];
  /** Whether a pair that is not in the list is gone: not so where a row's name could not be read. */
  readonly isWhole: boolean;
};

export type SymbolCounts = {
  readonly new: number;
  readonly changed: number;
  /** Came back after it was gone. */
  readonly returned: number;
  readonly gone: number;
  /** A newer list is stored already, and nothing of this one was. */
  readonly isOutdated: boolean;
};

/** @throws UnbelievableListError where the list is too short to be one. */
export type CommitSymbols = (list: SymbolList) => Promise<SymbolCounts>;

/**
 * What the sync needs of a database, for one account that this run holds. Every write fails
 * once another run has taken the account.
 */
export type Store = {
  knownTime(stream: Stream): Promise<KnownTime>;
  /** Replaces the stream's open windows by the plan's and records what expired. */
  recordPlan(plan: StreamPlan): Promise<void>;
  /**
   * The database's time, as text, when the last of this account's transactions began; undefined
   * before the first. What others store later is at least as late.
   */
  time(): string | undefined;
  /**
   * @throws CommitsLostError where the window no longer stands at the page before; OutdatedPageError
   *   where a bill of the page is stored otherwise since `askedAfter`.
   */
  commitPage(page: PageCommit): Promise<PageCounts>;
  /**
   * Puts several open windows in the place of one: cut at these times, oldest first, each inside
   * the window. The newest keeps the cursor and the counts, the others are still to be begun.
   */
  divideWindow(stream: Stream, window: Interval, cuts: readonly EpochMs[]): Promise<void>;
  /** A record equal to the last one makes it last longer; any other is kept beside it. */
  commitLoanToValue(commit: LoanToValueCommit): Promise<LoanToValueChange>;
};

/** An account held by this run: no other run writes it, or asks the exchange for it. */
export type HeldAccount = {
  readonly store: Store;
  /** @throws LeaseLostError where another run may have taken the account. */
  assertHeld(): void;
};
