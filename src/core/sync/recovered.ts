import type { EpochMs } from "../../lib/time.ts";
import type { ProductType } from "../contract/product-types.ts";
import { type Interval, subtract } from "../words/intervals.ts";
import type { Ledger } from "../words/ledger.ts";
import type { PageCounts } from "../words/page.ts";
import type { AccountDeps, LedgerReport } from "./ledger-run.ts";

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
