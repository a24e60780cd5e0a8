import type { EpochMs } from "../../lib/time.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { AccountMode, NotAvailable } from "../words/account-state.ts";
import { type Interval, subtract } from "../words/intervals.ts";
import type { Ledger } from "../words/ledger.ts";
import type { PageCounts } from "../words/page.ts";
import type { EndedLedger } from "./account-mode.ts";
import type { AccountDeps, LedgerReport } from "./ledger-run.ts";
import type { LoanToValueReport } from "./sync-loan-to-value.ts";

/** The result of syncing one account. */
export type AccountReport = {
  readonly account: string;
  readonly loanToValue: readonly LoanToValueReport[];
  readonly ledgers: readonly LedgerReport[];
  /** The account's mode; undefined where the run failed before it was known. */
  readonly mode?: AccountMode;
  /** The product types that were refused to the account's key in this run; delisted ones by the first run alone. */
  readonly notAvailable?: readonly Pick<NotAvailable, "productType" | "reason">[];
  /** What was recovered from tax records: only ledgers of which older time was wanted. Default none. */
  readonly recovery?: readonly RecoverReport[];
  /** The ledgers that this run ended. */
  readonly ended?: readonly EndedLedger[];
  /** The error that ended the account's run. `ledgers` are then those of which something was stored. */
  readonly error: unknown;
};

export const failedReport = (account: string, error: unknown): AccountReport => ({
  ...{ account, loanToValue: [], ledgers: [], error },
});

/**
 * Whether nothing is missing: there was no error, every window was walked, no row was rejected, no time was
 * found lost, no ledger ended with unread time, and no millisecond of tax records may hold more than was shown.
 * Tax records that are not believed, or that the key may not read, are a notice: the ledger is what it was without them.
 */
export function isComplete(report: AccountReport): boolean {
  const { error, ended = [], loanToValue, ledgers, recovery = [] } = report;
  return (
    error === undefined &&
    recovery.every(
      (one) => one.error === undefined && one.rejected === 0 && one.partlyRecovered.length === 0,
    ) &&
    ended.every(({ unread }) => unread.length === 0) &&
    loanToValue.every((unit) => unit.error === undefined) &&
    ledgers.every(
      ({ error, windowsPlanned, windowsRead, rejected, lost }) =>
        error === undefined &&
        windowsRead === windowsPlanned &&
        rejected === 0 &&
        lost.length === 0,
    )
  );
}

/** Recovers the older time of an account's ledgers from tax records. Never throws: failures are in the reports. */
export type RecoverBills = (
  deps: AccountDeps,
  account: string,
  productTypes: readonly ProductType[],
) => Promise<readonly RecoverReport[]>;

/** What became of one ledger's older time. */
export type RecoverReport = PageCounts & {
  readonly ledger: Ledger;
  readonly requests: number;
  readonly recovered: readonly Interval[];
  /** Milliseconds with as many rows as an answer holds: others may be missing. */
  readonly partlyRecovered: readonly EpochMs[];
  /** Why nothing was recovered that is wanted; undefined where it was. */
  readonly notRecoveredReason: string | undefined;
  readonly error: unknown;
};

/** Time that was lost to the bills and then recovered is not missing. */
export const withoutRecovered = (
  ledgers: readonly LedgerReport[],
  recovery: readonly RecoverReport[],
): readonly LedgerReport[] =>
  ledgers.map((one) => {
    const ofLedger = recovery.filter((part) => part.ledger.productType === one.ledger.productType);
    const recovered = ofLedger.flatMap((part) => part.recovered);
    return { ...one, lost: subtract(one.lost, recovered) };
  });
