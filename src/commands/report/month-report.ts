import type { Movement } from "../../reports/movements.ts";
import type { ReportedWallet } from "../../reports/reported-wallets.ts";
import type { Interval } from "../../sync/intervals.ts";
import type { Digest } from "./digest.ts";

/** A list that is shown up to a bound, and how long it is. */
export type Listed<Item> = { readonly total: number; readonly shown: readonly Item[] };

/** Opening, what moved it, and closing, of one coin: decimals as text. */
export type Rollforward = Readonly<Record<Movement, string>> & {
  readonly coin: string;
  readonly bills: number;
  /** Null where no bill of the ledger shows a balance. */
  readonly opening: string | null;
  readonly closing: string | null;
};

export type Coverage = {
  /** Time of the month that was read to its end, that is not, and that is lost. */
  readonly complete: readonly Interval[];
  readonly missing: readonly Interval[];
  readonly expired: readonly Interval[];
  /** Of the windows that prove it: how many, their pages and rows, and when the last one was read. */
  readonly windows: number;
  readonly pages: number;
  readonly rows: number;
  readonly lastReadAt: string | null;
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
  /** What is another now: the column, the old and the new value. */
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
  readonly state: "open" | "explained";
  readonly note: string | null;
  readonly signedOffBy: string | null;
  readonly signedOffAt: string | null;
};

export type LedgerMonth = {
  readonly wallet: ReportedWallet;
  readonly coverage: Coverage;
  /** When a check last looked at the chain that was looked at first; null where one never was. */
  readonly reconciledAt: string | null;
  /** Whether a check has looked at every bill of the month. */
  readonly isReconciled: boolean;
  readonly rollforward: readonly Rollforward[];
  readonly digest: Digest;
  readonly rejected: Listed<Rejected>;
  readonly restatements: Listed<Restatement>;
  readonly breaks: Listed<ReportedBreak>;
};

export type MonthReport = {
  /** 2026-10, of UTC. */
  readonly month: string;
  readonly span: Interval;
  readonly generatedAt: string;
  readonly versions: {
    readonly program: string;
    readonly node: string;
    readonly postgres: string;
    readonly schema: string;
  };
  /** What the figures may lack or what is not settled, a sentence each. Empty where nothing is. */
  readonly lacking: readonly string[];
  readonly ledgers: readonly LedgerMonth[];
};
