import type { ComparedBalance } from "../../check/health/balances.ts";
import type { Break } from "../../check/reconcile/breaks.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import type { RejectedBill } from "../../core/store/rejected-bills.ts";
import type { Movement } from "../../core/views/movements.ts";
import type { Interval } from "../../core/words/intervals.ts";
import type { Ledger } from "../../core/words/ledger.ts";
import type { Decimal } from "../../lib/decimal.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import type { Digest } from "./digest.ts";

// A person reads one page; CSV and JSON have the rest.
export const shownMax = 100;

export type Coverage = {
  /** The complete time, also before and after the period. */
  readonly read: readonly Interval[];
  /** The period's time that was read to its end, that was not, and that is lost. */
  readonly complete: readonly Interval[];
  readonly unread: readonly Interval[];
  readonly lost: readonly Interval[];
  /** The period's time whose bills were recovered from tax records. */
  readonly recovered: readonly Interval[];
  /** The unread time that is older than what was ever to be read. */
  readonly older: readonly Interval[];
  /** Whether the period's first moment was read, or recovered: else nothing shows what was held then. */
  readonly isStartRead: boolean;
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

/** Bills of one kind and category that changed after a time: what they moved more than before. */
export type Change = {
  readonly kind: "late" | "restated" | "recovered";
  readonly category: string;
  readonly coin: string;
  readonly bills: number;
  readonly difference: Decimal;
  /** The database's time of the first and of the last change. */
  readonly since: string;
  readonly until: string;
};

/** One leg of a transfer, and the other one where it is stored. */
export type Leg = Ledger & {
  readonly billId: string;
  readonly time: EpochMs;
  readonly coin: string;
  readonly amount: string;
  /** The meaning of its type. */
  readonly meaning: string;
  readonly otherAccount: string | null;
  readonly otherProductType: ProductType | null;
  readonly otherBillId: string | null;
};

export type Moved = ReadonlyMap<Movement, Decimal>;

/** The sums of the bills of one coin, or of one of its contracts. */
export type Tally = { readonly bills: number; readonly moved: Moved };

/** One coin of a wallet, from the period's start to its end. The opening is null where no bill shows a balance. */
export type CoinFigures = Tally & {
  readonly coin: string;
  readonly opening: Decimal | null;
  readonly closing: Decimal | null;
  /** By contract; empty for bills that name none. */
  readonly contracts: ReadonlyMap<string, Tally>;
};

/** The first of them, and how many there are. */
type First<Row> = { readonly total: number; readonly shown: readonly Row[] };

export type LedgerClose = {
  readonly wallet: ReportedWallet;
  readonly coverage: Coverage;
  /** The oldest of the chains' last checks; null if no chain was checked. */
  readonly reconciledAt: string | null;
  readonly figures: readonly CoinFigures[];
  /** The exchange's first balances at the period's end or later, if bills lead to them. */
  readonly balanceChecks: readonly ComparedBalance[];
  readonly flows: readonly Leg[];
  readonly digest: Digest;
  /** The changes after the close was signed, and the digest of what was stored then. */
  readonly changes: readonly Change[];
  readonly digestThen: Digest | undefined;
  /** Open rows of any time, because a broken row's month cannot be known; and all that were accepted. */
  readonly rejected: First<RejectedBill>;
  readonly acceptedRows: readonly RejectedBill[];
  readonly restatements: First<Restatement>;
  /** Open ones, then those that were accepted, also if a later check has resolved them. */
  readonly breaks: readonly Break[];
};

/** The selection of a report, and its form. */
export type ReportOptions = {
  /** A month, a year, or the first and the last day: 2026-10, 2026, 2026-01-01 to 2026-09-30. */
  readonly period: string;
  readonly span: Interval;
  readonly zone: string;
  /** When the close was signed: what changed since is listed. */
  readonly signedAt?: EpochMs | undefined;
};

export type CloseReport = ReportOptions & {
  readonly generatedAt: string;
  readonly versions: {
    readonly program: string;
    readonly node: string;
    readonly postgres: string;
    readonly schema: string;
  };
  /**
   * A sentence for each thing that is missing from the figures or not reconciled. Empty if there is none.
   */
  readonly problems: readonly string[];
  /** The accepted differences by coin and the accepted lost time, in words. */
  readonly accepted: readonly string[];
  readonly ledgers: readonly LedgerClose[];
};
