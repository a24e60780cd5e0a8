import type { ProductType, UnifiedProductType } from "../../src/contract/product-types.ts";
import type { ScheduledFault } from "../../src/sandbox/fault-kinds.ts";
import type { BrokenRow } from "../../src/sandbox/ledger-faults.ts";
import type { Quirks } from "../../src/sandbox/source.ts";
import type { PastHorizon } from "../../src/server/routes.ts";

/**
 * All that is decided about a history before it is played: plain data, so that it can be
 * printed, shrunk and played again. All times in ms.
 */
export type History = {
  readonly seed: number;
  readonly exchange: ExchangeKind & {
    /** One way to the exchange: from the least, by as much again as the jitter. */
    readonly wayMs: number;
    readonly jitterMs: number;
  };
  readonly ledger: LedgerKind;
  /** Default an account that is classic at all times. */
  readonly account?: AccountKind;
  readonly steps: readonly Step[];
};

/** What the API's documentation leaves open. */
export type ExchangeKind = { readonly quirks: Quirks; readonly pastHorizon: PastHorizon };

export type LedgerKind = {
  readonly seed: number;
  readonly productTypes: readonly ProductType[];
  /** Beyond the moment at which the history begins. */
  readonly futureDays: number;
  readonly density: number;
  /** So many bills within some minutes, so long after the history began; before it where negative. */
  readonly bursts: readonly { readonly atMs: number; readonly bills: number }[];
  readonly oddDecimals: number;
  readonly brokenRows: number;
  /** How far an id may lie beside its bill's time; 0: ids rise with the times. */
  readonly idJitterMs: number;
  /** Whether every new window has bills on its first and its last millisecond. */
  readonly edgeBills: boolean;
};

/** An account that is unified, at least for a time. */
export type AccountKind = {
  /** What it is since when, after the history began, oldest first; the first also before. */
  readonly modes: readonly { readonly atMs: number; readonly mode: string }[];
  /** Of the unified account; while it is classic, it has those of the ledger. */
  readonly productTypes: readonly UnifiedProductType[];
  readonly density: number;
  readonly isFuturesFeeInside: boolean;
  readonly areIdsReused: boolean;
  /** Before it, rows have no fields of a position. */
  readonly positionsSinceMs: number;
  readonly numericCursor: boolean;
};

/** Time passes, then a sync runs. */
export type Step = {
  readonly passMs: number;
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
  /** How long after the sync begins it is served with other content. */
  readonly restatedAfterMs?: number;
  readonly broken?: BrokenRow;
};

export type DatabaseFault = {
  /** Of the statements, or of the commits, of this step: the how many-eth, from 1. */
  readonly of: "statement" | "commit";
  readonly at: number;
  /** `cut-after`: the server did it, and the answer is never seen. */
  readonly kind: "fails" | "cut-before" | "cut-after";
};

/** Each at an effect of the process: before and after each request and each statement. From 1. */
export type ProcessFault =
  /** SIGKILL: nothing of the process ever happens again. */
  | { readonly kind: "kill"; readonly at: number }
  /** SIGTERM. */
  | { readonly kind: "stop"; readonly at: number }
  /** SIGSTOP; another sync starts soon after, and takes the account where that takes long enough. */
  | { readonly kind: "freeze"; readonly at: number; readonly forMs: number }
  /** The machine sleeps: its clock stands still, the exchange's goes on. */
  | { readonly kind: "suspend"; readonly at: number; readonly forMs: number }
  /** A second sync starts beside it. */
  | { readonly kind: "second"; readonly at: number }
  /** `verify --heal` of so many days starts beside it, and may have its own faults. */
  | {
      readonly kind: "verify";
      readonly at: number;
      readonly days: number;
      readonly process: readonly ProcessFault[];
    };
