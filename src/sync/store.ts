import type { Bill } from "../contract/bill.ts";
import type { ContractSettings } from "../contract/contracts.ts";
import type { RowFault } from "../contract/json.ts";
import type { LoanToValue } from "../contract/loan-to-value.ts";
import type { ContractProductType, ProductType } from "../contract/product-types.ts";
import type { SymbolSettings } from "../contract/symbols.ts";
import type { EpochMs } from "../contract/time.ts";
import type { AccountMode, AccountState } from "./account-state.ts";
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
   * The ledger's history starts in this window: nothing older was ever wanted. If the horizon takes no
   * more than `startSlackMs` of it, the history starts later, and nothing is lost.
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
  /** The row as the answer has it, letter for letter. */
  readonly text: string;
  readonly fault: RowFault;
};

/** What a finished walk proves of its window. */
export type WalkEnd = {
  /** The time that is now complete; empty if all of it is still settling. */
  readonly proven: readonly Interval[];
  /** The time that fell behind the horizon before it was read. */
  readonly expired: readonly Interval[];
};

/** A page and all that it changes: committed as one, or not at all. */
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

/** How a record compares with those before it. `outdated`: a newer one is stored, and this one was not. */
export type LoanToValueChange = "first" | "changed" | "unchanged" | "outdated";

/** The settings of all pairs, or of all contracts, as they were at the exchange's time `readAt`. */
export type SettingsList<Settings> = {
  readonly readAt: EpochMs;
  /** No symbol twice. */
  readonly settings: readonly Settings[];
  /** Symbols that are listed and whose rows could not be read: their stored settings stay. */
  readonly unread: readonly string[];
  /** Whether a symbol that is not listed is gone. False if some row's name could not be read. */
  readonly isWhole: boolean;
};

export type SymbolList = SettingsList<SymbolSettings>;

/** All contracts of one product type. */
export type ContractList = SettingsList<ContractSettings> & {
  readonly productType: ContractProductType;
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

/** @throws UnbelievableListError where the list is too short to be one. */
export type CommitContracts = (list: ContractList) => Promise<SymbolCounts>;

/** Which product types a key was asked for in vain, and which it was not. */
export type Availability = {
  readonly refused: readonly { readonly productType: ProductType; readonly reason: string }[];
  readonly answered: readonly ProductType[];
  /** The exchange's time. */
  readonly askedAt: EpochMs;
};

/**
 * What the sync needs of a database, for one account that this run holds. Every write fails
 * once another run has taken the account.
 */
export type Store = {
  /** What earlier runs were told of the account. */
  accountState(): Promise<AccountState>;
  /** Records the account's mode: streams of the other mode are closed, and those of this one open again. */
  closeStreamsOfOtherMode(mode: AccountMode, at: EpochMs): Promise<void>;
  recordAvailability(availability: Availability): Promise<void>;
  knownTime(stream: Stream): Promise<KnownTime>;
  /** Replaces the stream's open windows by the plan's and records what expired. */
  recordPlan(plan: StreamPlan): Promise<void>;
  /**
   * The database's time, as text, when this account's last transaction began; undefined before the
   * first. Whatever others store after that has the same time or a later one.
   */
  time(): string | undefined;
  /**
   * @throws CommitsLostError where the window no longer stands at the page before; OutdatedPageError
   *   where a bill of the page is stored otherwise since `askedAfter`.
   */
  commitPage(page: PageCommit): Promise<PageCounts>;
  /**
   * Divides an open window at these times, which are inside it, oldest first. The newest part keeps
   * the cursor and the counts. The others have not begun.
   */
  divideWindow(stream: Stream, window: Interval, cuts: readonly EpochMs[]): Promise<void>;
  /**
   * Stores the account's days anew that are marked. Where it cannot, it does not, and nothing is wrong:
   * marked days are computed when they are read.
   */
  refreshDays(): Promise<void>;
  /** The same for the days of windows that pages have ended. */
  refreshEndedDays(): Promise<void>;
  /** A record that equals the last one extends its time. Any other is stored beside it. */
  commitLoanToValue(commit: LoanToValueCommit): Promise<LoanToValueChange>;
};

/** An account held by this run: no other run writes it, or asks the exchange for it. */
export type HeldAccount = {
  readonly store: Store;
  /** @throws LeaseLostError where another run may have taken the account. */
  assertHeld(): void;
};
