import {
  loanToValue as classicLoanToValue,
  unifiedLoanToValue,
} from "../contract/loan-to-value.ts";
import type { ProductType } from "../contract/product-types.ts";
import { ExchangeError, UsageError } from "../errors.ts";
import { meetAccount, refuseNothing } from "./account-mode.ts";
import type { AccountMode, Wanted } from "./account-state.ts";
import { type BillsReport, syncBills } from "./bills.ts";
import { type ClosedStream, closeStreamsOfOtherMode } from "./closed-streams.ts";
import { failureScope } from "./failure-scope.ts";
import type { HeldAccount } from "./store.ts";
import { type BillsDeps, type StreamReport, StreamRun } from "./stream-run.ts";
import { type LoanToValueReport, syncLoanToValue } from "./sync-loan-to-value.ts";
import { PageHabits } from "./walk/page-habits.ts";

/** The account that a run syncs. */
export type SyncAccount = Wanted & {
  readonly name: string;
  /** Whether the account's loan-to-value is synced. Default false. */
  readonly ltv?: boolean;
  /** The risk units of a parent account. Default the account's own. */
  readonly riskUnitIds?: readonly string[];
};

export type RunDeps = Omit<BillsDeps, "held" | "client" | "exchangeNow"> & {
  readonly exchangeOf: (account: SyncAccount) => Pick<BillsDeps, "client" | "exchangeNow">;
  /** Called with every failed request for loan-to-value or for the account's mode. */
  readonly onFailure: (failure: ExchangeError) => void;
  /** @throws AccountHeldError where another run holds the account. */
  readonly takeLease: (account: string) => Promise<HeldAccount & AsyncDisposable>;
};

export type AccountReport = Partial<Pick<BillsReport, "notAvailable">> & {
  readonly account: string;
  readonly loanToValue: readonly LoanToValueReport[];
  readonly streams: readonly StreamReport[];
  /** The account's mode; undefined where the run failed before it was known. */
  readonly mode?: AccountMode;
  /** The streams that this run closed. */
  readonly closed?: readonly ClosedStream[];
  /** The error that ended the account's run. `streams` is then empty. */
  readonly error: unknown;
};

/**
 * Syncs one account under its lease: first its loan-to-value, if that is asked for, then its bills.
 * Never throws: failures are in the report.
 */
export async function syncAccount(deps: RunDeps, account: SyncAccount): Promise<AccountReport> {
  const { name, ltv = false, riskUnitIds = [], readsAll = false } = account;
  let report: AccountReport = { account: name, loanToValue: [], streams: [], error: undefined };
  try {
    await using held = await deps.takeLease(name);
    const own = { ...deps, ...deps.exchangeOf(account), held };
    const state = await held.store.accountState();
    const pageHabits = new PageHabits();
    const streamOf = (productType: ProductType) =>
      new StreamRun(own, { account: name, productType }, pageHabits);
    const asking = { ...own, assertHeld: held.assertHeld };
    const met = await meetAccount(asking, account, state, streamOf);
    const { mode, streams, uid } = met;
    await held.prove?.(mode);
    await held.recordUser?.(uid);
    report = { ...report, mode, closed: await closeStreamsOfOtherMode(own, account, state, met) };
    if (streams.length === 0) refuseNothing(account, mode);
    if (ltv) {
      const operation = mode === "classic" ? classicLoanToValue : unifiedLoanToValue;
      const loanToValue = await syncLoanToValue({ ...own, operation }, name, riskUnitIds);
      report = { ...report, loanToValue };
    }
    // The exchange has refused the key or the whole account, so it would refuse its bills, too.
    const refused = report.loanToValue.find(({ error }) => isRefusal(error))?.error;
    if (refused !== undefined) throw refused;
    const bills = await syncBills(own, streams, readsAll);
    // What is wrong with the key concerns the whole account.
    const wrong = bills.streams.find(({ error }) => error instanceof UsageError)?.error;
    if (wrong !== undefined) throw wrong;
    await held.store.refreshDays();
    return { ...report, ...bills };
  } catch (error) {
    return { ...report, error };
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ExchangeError && failureScope(error) === "account";

/**
 * Whether nothing is missing: there was no error, every window was walked, no row was rejected, no time was
 * found to have expired, and no stream was closed with unread time.
 */
export function isComplete({ error, closed = [], loanToValue, streams }: AccountReport): boolean {
  return (
    error === undefined &&
    closed.every(({ unread }) => unread.length === 0) &&
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
