import type { ProductType, UnifiedProductType } from "../../src/core/contract/product-types.ts";
import type { ScheduledFault } from "../exchange/kinds.ts";
import type { BrokenRow } from "../exchange/ledger.ts";
import type { Quirks } from "../exchange/quirks.ts";

/** Everything that is decided about a history before it is played. All times are in ms. */
export type History = {
  readonly seed: number;
  readonly exchange: {
    /** What the API's documentation leaves open. */
    readonly quirks: Quirks;
    /** The one-way delay to the exchange: at least the minimum, and at most the jitter more. */
    readonly wayMs: number;
    readonly jitterMs: number;
  };
  readonly ledger: LedgerKind;
  /** Default an account that is always classic. */
  readonly account?: AccountKind;
  /** Default nobody asks for tax records. */
  readonly records?: RecordsKind;
  /** Default syncs end without a check. */
  readonly healing?: HealingKind;
  /** Whether the exchange refuses to say whose a key is. Default false. */
  readonly isUserUntold?: boolean;
  readonly steps: readonly Step[];
};

export type LedgerKind = {
  readonly seed: number;
  readonly productTypes: readonly ProductType[];
  /** How long the ledger goes on after the start of the history. */
  readonly futureDays: number;
  readonly density: number;
  /**
   * This many bills within some minutes, at this time after the start of the history; negative
   * times are before it.
   */
  readonly bursts: readonly { readonly atMs: number; readonly bills: number }[];
  readonly oddDecimals: number;
  readonly brokenRows: number;
  /** How far an id may deviate from its bill's time. With 0, ids rise with the times. */
  readonly idJitterMs: number;
  /** Whether every new window has bills on its first and its last millisecond. */
  readonly edgeBills: boolean;
};

/** An account that is unified, at least for some time. */
export type AccountKind = {
  /**
   * Its modes and since when, after the start of the history, oldest first. The first one also
   * holds before.
   */
  readonly modes: readonly { readonly atMs: number; readonly mode: string }[];
  /** The quirks while it is unified. While it is classic, it has those of the ledger. */
  readonly productTypes: readonly UnifiedProductType[];
  readonly density: number;
  readonly isFuturesFeeInside: boolean;
  readonly areIdsReused: boolean;
  /** Before this time, rows have no position fields. */
  readonly positionsSinceMs: number;
  readonly numericCursor: boolean;
};

/** The tax records of the account, and how much of them is wanted. */
export type RecordsKind = {
  /** How long before the start of the history the oldest wanted time is, and how long before that the ledger begins. */
  readonly wantedMs: number;
  readonly moreDays: number;
  /** Whether they agree with the bills, lack a row of each answer, have others' amounts, or are refused to the key. */
  readonly kind: "equal" | "without-first" | "without-last" | "amounts" | "refused";
  /** How many more bills one older millisecond has. */
  readonly crowd: number;
};

/** Each sync ends with the check that reads again what does not add up, as the command's does. */
export type HealingKind = {
  /** How far one answer in three is behind. 0: none is. */
  readonly lagMs: number;
};

/**
 * The key of a run: the account's, a second one of its user, one of another user, one of a user without bills, or a second
 * one of its user under another name.
 */
export type KeyKind = "own" | "second" | "other" | "empty" | "twice";

/** Time passes, then a sync runs. */
export type Step = {
  readonly passMs: number;
  /** Default its own. */
  readonly key?: KeyKind;
  /** How far this machine's clock is ahead of the exchange's. */
  readonly aheadMs: number;
  /** Bills of the last minutes before the sync. */
  readonly recent: readonly RecentBill[];
  /** `atRequest` counts the requests of this step. */
  readonly exchange: readonly ScheduledFault[];
  readonly database: readonly DatabaseFault[];
  readonly process: readonly ProcessFault[];
};

export type RecentBill = {
  /** How long before the sync begins. */
  readonly agoMs: number;
  /** How long after its own time the exchange begins to serve it. */
  readonly lateMs: number;
  /** How long after the start of the sync it is served with other content. */
  readonly restatedAfterMs?: number;
  readonly broken?: BrokenRow;
};

export type DatabaseFault = {
  /** The number of the statement or commit of this step, from 1. */
  readonly of: "statement" | "commit";
  readonly at: number;
  /** `cut-after`: the server executed it, but its answer is lost. */
  readonly kind: "fails" | "cut-before" | "cut-after";
};

/**
 * Each strikes at an effect of the process, which are counted from 1: before and after each request
 * and each statement.
 */
export type ProcessFault =
  /** SIGKILL: the process does nothing any more. */
  | { readonly kind: "kill"; readonly at: number }
  /** SIGTERM. */
  | { readonly kind: "stop"; readonly at: number }
  /**
   * SIGSTOP. Another sync starts soon after, and takes the account if the first one is stopped long
   * enough.
   */
  | { readonly kind: "freeze"; readonly at: number; readonly forMs: number }
  /** The machine sleeps: its clock stands still, and the exchange's goes on. */
  | { readonly kind: "suspend"; readonly at: number; readonly forMs: number }
  /** A second sync starts beside it. */
  | { readonly kind: "second"; readonly at: number }
  /** A `verify --repair` of this many days starts beside it, and may have faults of its own. */
  | {
      readonly kind: "verify";
      readonly at: number;
      readonly days: number;
      readonly process: readonly ProcessFault[];
    };
