import type { Movement } from "../export/movements.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import type { ToldBalance } from "../health/balances.ts";
import type { Interval } from "../sync/intervals.ts";
import type { Digest } from "./digest.ts";

/** The first items of a list, and the length of the whole list. */
export type Listed<Item> = { readonly total: number; readonly shown: readonly Item[] };

/** Opening, movements and closing of one coin. Decimals are text. */
export type Rollforward = Readonly<Record<Movement, string>> & {
  readonly coin: string;
  readonly bills: number;
  /** Null where no bill of the ledger shows a balance. */
  readonly opening: string | null;
  readonly closing: string | null;
};

export type Coverage = {
  /** The month's time that was read to its end, that was not, and that is lost. */
  readonly complete: readonly Interval[];
  readonly unread: readonly Interval[];
  readonly lost: readonly Interval[];
  /** The month's time whose bills were recovered from tax records. */
  readonly recovered: readonly Interval[];
  /** The unread time that is older than what was ever to be read. */
  readonly older: readonly Interval[];
};

export type Rejected = {
  readonly digest: string;
  readonly billId: string | null;
  readonly faultPath: string;
  readonly fault: string;
  readonly rejectedAt: string;
};

export type Restatement = {
  readonly billId: string;
  readonly revision: number;
  readonly replacedAt: string;
  /** The changed columns, with old and new values. */
  readonly changes: readonly {
    readonly field: string;
    readonly old: string | null;
    readonly new: string | null;
  }[];
};

export type ReportedBreak = {
  readonly breakId: number;
  readonly kind: string;
  readonly coin: string;
  readonly happenedAt: string | null;
  readonly difference: string | null;
  readonly explanation: string;
  readonly state: "open" | "accepted";
  readonly note: string | null;
  readonly acceptedBy: string | null;
  readonly acceptedAt: string | null;
};

/** Open ones come first, so that the first of a long list may hide how many are open. */
export type ListedBreaks = Listed<ReportedBreak> & { readonly open: number };

export type LedgerMonth = {
  readonly wallet: ReportedWallet;
  readonly coverage: Coverage;
  /** The oldest of the chains' last checks; null if no chain was checked. */
  readonly reconciledAt: string | null;
  /** Whether reconcile has checked every bill of the month. */
  readonly isReconciled: boolean;
  readonly rollforward: readonly Rollforward[];
  /** What the exchange told of the wallet at the end of the month or later, last. */
  readonly told: readonly ToldBalance[];
  readonly digest: Digest;
  readonly rejected: Listed<Rejected>;
  readonly restatements: Listed<Restatement>;
  readonly breaks: ListedBreaks;
};

export type MonthReport = {
  /** A month of UTC: 2026-10. */
  readonly month: string;
  readonly span: Interval;
  readonly generatedAt: string;
  readonly versions: {
    readonly program: string;
    readonly node: string;
    readonly postgres: string;
    readonly schema: string;
  };
  /**
   * A sentence for each thing that the figures lack or that is not settled. Empty if there is none.
   */
  readonly lacking: readonly string[];
  /** What of the month was accepted and is settled, in words: differences by coin, lost time. */
  readonly accepted: readonly string[];
  readonly ledgers: readonly LedgerMonth[];
};
