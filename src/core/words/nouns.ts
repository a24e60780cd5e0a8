import type { ExchangeError } from "../../lib/errors.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { Bill } from "../contract/bill.ts";
import type { ContractSettings } from "../contract/contracts.ts";
import type { RowFault } from "../contract/json.ts";
import type { KeyInfo } from "../contract/key-info.ts";
import type { LoanToValue } from "../contract/loan-to-value.ts";
import type { ContractProductType, ProductType } from "../contract/product-types.ts";
import type { SymbolSettings } from "../contract/symbols.ts";
import type { WalletBalance } from "../contract/wallet-balances.ts";
import type { AccountMode, AccountState } from "./account-state.ts";
import type { Interval } from "./intervals.ts";

/** One account and one product type, which together have a ledger of their own. */
export type Ledger = { readonly account: string; readonly productType: ProductType };

/** How far a window was walked, so that it can be resumed. */
export type Walk = {
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
};

/** What is stored about a ledger's time. */
export type KnownTime = {
  /** The time that is proven complete. */
  readonly coverage: readonly Interval[];
  /** The time that was recorded as lost: it became older than the horizon before it was read. */
  readonly lost: readonly Interval[];
  /** The windows that earlier runs planned or began, and did not finish. */
  readonly open: readonly Walk[];
  /** The time that was recovered from tax records. Default none. */
  readonly recovered?: readonly Interval[];
};

/** Stored bills, with which tax records of the same window are compared. */
export type Overlap = { readonly window: Interval; readonly bills: readonly OverlapBill[] };

export type OverlapBill = Pick<Bill, "billId" | "cTime" | "amount" | "fee">;

/** What the recovery of a ledger's older time begins with. */
export type RecoveryState = {
  readonly known: KnownTime;
  /** The time of the oldest stored bill. */
  readonly oldestBill: EpochMs | undefined;
  readonly comparison: TaxComparison | undefined;
};

/** The last comparison of tax records with stored bills. */
export type TaxComparison = {
  /** The exchange's time. */
  readonly at: EpochMs;
  /** How many bills were compared. */
  readonly compared: number;
  /** Why the records are not believed; absent where they are. */
  readonly notRecoveredReason?: string | undefined;
  /** Milliseconds of which the records have more rows than an answer shows, as the last recovery met them. */
  readonly partlyRecovered?: readonly EpochMs[];
};

/** The rows of a window of tax records. They are committed with it as a whole or not at all. */
export type RecoveredCommit = ReadRows & {
  readonly ledger: Ledger;
  /** The time that is now recovered; undefined where other rows of it may be missing. */
  readonly window: Interval | undefined;
};

/** A row that broke the contract. */
export type RejectedRow = {
  readonly received: unknown;
  /** The row as the answer has it, letter for letter. */
  readonly text: string;
  readonly fault: RowFault;
};

/** The rows of an answer: those that could be read, and those that broke the contract. */
export type ReadRows = {
  readonly bills: readonly Bill[];
  readonly rejected: readonly RejectedRow[];
};

/** What a finished walk proves of its window. */
export type WalkEnd = {
  /** The time that is now proven complete; empty if all of it is still settling. */
  readonly proven: readonly Interval[];
  /** The time that became older than the horizon before it was read. */
  readonly lost: readonly Interval[];
};

/** A page and everything that it changes. It is committed as a whole or not at all. */
export type PageCommit = {
  readonly ledger: Ledger;
  readonly window: Interval;
  readonly startedAt: EpochMs;
  /** The window's place before the page: the `cursor` of the page before. */
  readonly after: string | undefined;
  readonly bills: readonly Bill[];
  readonly rejected: readonly RejectedRow[];
  /** The window's place after the page (see ResumePlace), or what its finished walk proved. */
  readonly next: { readonly cursor: string | undefined } | { readonly end: WalkEnd };
};

export type PageCounts = {
  readonly new: number;
  readonly unchanged: number;
  readonly restated: number;
  readonly rejected: number;
};

/** The windows of a ledger that a run is going to walk. */
export type LedgerPlan = {
  readonly ledger: Ledger;
  /** The walks, oldest first: the oldest time expires first. */
  readonly walks: readonly Walk[];
  /** The exchange's time of the plan. */
  readonly plannedAt: EpochMs;
  /** The wanted time that became older than the horizon since the last run. */
  readonly lost: readonly Interval[];
  /**
   * Coverage behind this time is unread again; undefined where all of it stays. The exchange's clock was ahead in an
   * earlier run if coverage reaches past its time of today, and it has shown a bill that is not stored.
   */
  readonly coverageEnd?: EpochMs | undefined;
};

/** A risk unit's record at the exchange's time `readAt`. */
export type LoanToValueCommit = {
  readonly account: string;
  /** The risk unit that was asked for; undefined for the account's own. */
  readonly riskUnitId: string | undefined;
  readonly readAt: EpochMs;
  readonly record: LoanToValue;
};

/** What a wallet held of each coin at the exchange's time `readAt`. */
export type BalancesCommit = {
  readonly wallet: string;
  readonly readAt: EpochMs;
  readonly balances: readonly WalletBalance[];
};

/** How a record compares with earlier ones. `outdated`: it was not stored, since a newer one is stored already. */
export type LoanToValueChange = "first" | "changed" | "unchanged" | "outdated";

/** The settings of all pairs, or of all contracts, at the exchange's time `readAt`. */
export type SettingsList<Settings> = {
  readonly readAt: EpochMs;
  /** The settings, at most one for each symbol. */
  readonly settings: readonly Settings[];
  /** The symbols whose rows could not be read. Their stored settings stay as they are. */
  readonly unread: readonly string[];
  /** Whether symbols that are not listed are gone. False if a row's symbol could not be read. */
  readonly isWhole: boolean;
};

export type SymbolList = SettingsList<SymbolSettings>;

/** The list of one product type's contracts. */
export type ContractList = SettingsList<ContractSettings> & {
  readonly productType: ContractProductType;
};

export type SymbolCounts = {
  readonly new: number;
  readonly changed: number;
  /** Symbols that are listed again after they were gone. */
  readonly returned: number;
  readonly gone: number;
  /** False where nothing was stored, since another run has stored a newer list. */
  readonly isStored: boolean;
};

/** @throws ReportableError where the list is too short to be complete. */
export type CommitSymbols = (list: SymbolList) => Promise<SymbolCounts>;

/** @throws ReportableError where the list is too short to be complete. */
export type CommitContracts = (list: ContractList) => Promise<SymbolCounts>;

/** The product types that were refused to a key, and those that were answered. */
export type Availability = {
  readonly refused: readonly { readonly productType: ProductType; readonly reason: string }[];
  readonly answered: readonly ProductType[];
  /** The exchange's time. */
  readonly askedAt: EpochMs;
};

/**
 * What the sync needs from a database, for one account that this run holds. Every write fails
 * once another run has taken the account.
 */
export type Store = {
  /** What earlier runs have learned about the account. */
  accountState(): Promise<AccountState>;
  /** Records the account's mode. Ledgers of the other mode end, and ledgers of this mode begin again. */
  endLedgersOfOtherMode(mode: AccountMode, at: EpochMs): Promise<void>;
  recordAvailability(availability: Availability): Promise<void>;
  knownTime(ledger: Ledger): Promise<KnownTime>;
  /** The rows among these that are not stored as they are. */
  unstored(ledger: Ledger, rows: ReadRows): Promise<ReadRows>;
  /** Replaces the ledger's open windows by the plan's, and records what is lost. */
  recordPlan(plan: LedgerPlan): Promise<void>;
  /** @throws DatabaseError where the window's stored place is not the page's `after`. */
  commitPage(page: PageCommit): Promise<PageCounts>;
  recoveryState(ledger: Ledger): Promise<RecoveryState>;
  /** The newest bills of covered time; undefined where no bill is stored. */
  overlap(ledger: Ledger, overlapMs: number): Promise<Overlap | undefined>;
  recordTaxComparison(ledger: Ledger, evidence: TaxComparison): Promise<void>;
  /** Stores the bills of a window of tax records that are not stored yet. */
  commitRecovered(commit: RecoveredCommit): Promise<PageCounts>;
  /** Stores a record. If it equals the last one, only that record's time is extended. */
  commitLoanToValue(commit: LoanToValueCommit): Promise<LoanToValueChange>;
  commitBalances(commit: BalancesCommit): Promise<void>;
  /** @param at the exchange's time; undefined where the balances are no longer refused. */
  recordBalancesRefused(at: EpochMs | undefined): Promise<void>;
};

/** What reading a ledger needs of the store. */
export type LedgerStore = Pick<Store, "knownTime" | "unstored" | "recordPlan" | "commitPage">;

/** An account that this run holds: no other sync writes it, or asks the exchange for it. */
export type LeasedAccount = {
  readonly store: Store;
  /** @throws LeaseLostError where another run may have taken the account. */
  assertHeld(): void;
  /**
   * Decides whether the key is this account's. Called before anything is written. Default any key is.
   * @throws where the key is another account's.
   */
  takeKey?(answer: KeyAnswer): Promise<void>;
};

/** What the exchange told of an account and its key. */
export type KeyAnswer = {
  /** The error where it did not tell. */
  readonly info: KeyInfo | ExchangeError;
  /** The product types that are asked for. */
  readonly productTypes: readonly ProductType[];
};

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

/** How served rows differ from what was stored. */
export type Comparison = {
  readonly differing: readonly DifferingBill[];
  /** For each rejected row, whether somebody accepted it. */
  readonly areAccepted: readonly boolean[];
};

/** What a verification needs from a database, for one account that this run holds. */
export type VerifyStore = {
  /**
   * Compares rows with what is stored.
   * @param isRepaired whether rejected rows of bills that are stored as they are served are marked as superseded.
   * @param rows none twice.
   */
  compare(ledger: Ledger, rows: ReadRows, isRepaired: boolean): Promise<Comparison>;
  /** Stores bills that differ and keeps rejected rows. Fails once another run has taken the account. */
  repair(ledger: Ledger, rows: ReadRows): Promise<void>;
  /** The stored bills of a time. */
  stored(ledger: Ledger, window: Interval): Promise<readonly StoredBill[]>;
};
