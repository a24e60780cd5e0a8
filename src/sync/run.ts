import type { ProductType } from "../contract/product-types.ts";
import { ExchangeError } from "../errors.ts";
import { syncBills } from "./bills.ts";
import { failureScope } from "./failure-scope.ts";
import type { HeldAccount } from "./store.ts";
import type { BillsDeps, StreamReport } from "./stream-run.ts";
import { type LoanToValueReport, syncLoanToValue } from "./sync-loan-to-value.ts";

/** An account as a run needs it. */
export type SyncAccount = {
  readonly name: string;
  /** Those whose bills are synced. */
  readonly productTypes: readonly ProductType[];
  /** Whether its loan-to-value is synced. Default false. */
  readonly ltv?: boolean;
  /** A parent account's risk units. Default its own. */
  readonly riskUnitIds?: readonly string[];
};

export type RunDeps = Omit<BillsDeps, "held" | "client" | "exchangeNow"> & {
  readonly exchangeOf: (account: SyncAccount) => Pick<BillsDeps, "client" | "exchangeNow">;
  /** Told of every request for loan-to-value that failed. */
  readonly onFailure: (failure: ExchangeError) => void;
  /** @throws AccountHeldError where another run holds it. */
  readonly takeSyncLease: (account: string) => Promise<HeldAccount & AsyncDisposable>;
};

export type AccountReport = {
  readonly account: string;
  readonly loanToValue: readonly LoanToValueReport[];
  readonly streams: readonly StreamReport[];
  /** What ended the whole account; its streams are then not told apart. */
  readonly error: unknown;
};

/**
 * Syncs one account while holding it: its loan-to-value where that is asked for, then its bills.
 * Never throws: what failed is in the report.
 */
export async function syncAccount(deps: RunDeps, account: SyncAccount): Promise<AccountReport> {
  const { name, productTypes, ltv = false, riskUnitIds = [] } = account;
  let loanToValue: readonly LoanToValueReport[] = [];
  try {
    await using held = await deps.takeSyncLease(name);
    const own = { ...deps, ...deps.exchangeOf(account), held };
    if (ltv) loanToValue = await syncLoanToValue(own, name, riskUnitIds);
    // A key that is refused once is refused: the bills would only ask again.
    const refused = loanToValue.find(({ error }) => isRefusal(error))?.error;
    if (refused !== undefined) throw refused;
    const streams = await syncBills(own, name, productTypes);
    return { account: name, loanToValue, streams, error: undefined };
  } catch (error) {
    return { account: name, loanToValue, streams: [], error };
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ExchangeError && failureScope(error) === "account";

/** Whether nothing is missing: all stored, every window walked, no row rejected, no time found lost. */
export function isComplete({ error, loanToValue, streams }: AccountReport): boolean {
  return (
    error === undefined &&
    loanToValue.every((unit) => unit.error === undefined) &&
    streams.every(
      ({ error, windows, rejected, expired }) =>
        error === undefined &&
        windows.walked === windows.planned &&
        rejected === 0 &&
        expired.length === 0,
    )
  );
}
