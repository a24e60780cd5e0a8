import {
  loanToValue as classicLoanToValue,
  unifiedLoanToValue,
} from "../contract/loan-to-value.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import { ExchangeError } from "../errors.ts";
import { type Met, meetAccount, refuseNothing } from "./account-mode.ts";
import type { ReadAccount } from "./account-proof.ts";
import { type AccountMode, type AccountState, modeOf, type Wanted } from "./account-state.ts";
import { type BillsReport, syncBills } from "./bills.ts";
import { type ClosedTime, closedTime } from "./closed-streams.ts";
import { failureScope } from "./failure-scope.ts";
import { planStream } from "./plan.ts";
import type { HeldAccount, KnownTime, Stream } from "./store.ts";
import { type BillsDeps, type StreamReport, StreamRun } from "./stream-run.ts";
import { type LoanToValueReport, syncLoanToValue } from "./sync-loan-to-value.ts";
import { PageHabits } from "./walk/page-habits.ts";

/** An account as a run needs it. */
export type SyncAccount = Wanted & {
  readonly name: string;
  /** Whether its loan-to-value is synced. Default false. */
  readonly ltv?: boolean;
  /** A parent account's risk units. Default its own. */
  readonly riskUnitIds?: readonly string[];
};

export type RunDeps = Omit<BillsDeps, "held" | "client" | "exchangeNow"> & {
  readonly exchangeOf: (account: SyncAccount) => Pick<BillsDeps, "client" | "exchangeNow">;
  /** Told of every request for loan-to-value, and for the account's mode, that failed. */
  readonly onFailure: (failure: ExchangeError) => void;
  /** @throws AccountHeldError where another run holds it. */
  readonly takeSyncLease: (account: string) => Promise<HeldAccount & AsyncDisposable>;
  /**
   * Called before anything is written. Default: nothing is to be proven.
   * @throws where the key is another account's.
   */
  readonly prove?: (account: ReadAccount, held: HeldAccount) => Promise<void>;
};

export type AccountReport = Partial<Pick<BillsReport, "notAvailable">> & {
  readonly account: string;
  readonly loanToValue: readonly LoanToValueReport[];
  readonly streams: readonly StreamReport[];
  /** The account's mode; undefined where it was not found out. */
  readonly mode?: AccountMode;
  /** The streams that this run closed. */
  readonly closed?: readonly ClosedStream[];
  /** What ended the whole account; its streams are then not told apart. */
  readonly error: unknown;
};

/** A stream whose account came into the other mode, and what is left of it. */
export type ClosedStream = ClosedTime & { readonly stream: Stream; readonly closedAt: EpochMs };

/**
 * Syncs one account while holding it: its loan-to-value where that is asked for, then its bills.
 * Never throws: what failed is in the report.
 */
export async function syncAccount(deps: RunDeps, account: SyncAccount): Promise<AccountReport> {
  const { name, ltv = false, riskUnitIds = [], readsAll = false } = account;
  let report: AccountReport = { account: name, loanToValue: [], streams: [], error: undefined };
  try {
    await using held = await deps.takeSyncLease(name);
    const own = { ...deps, ...deps.exchangeOf(account), held };
    const state = await held.store.accountState();
    const pageHabits = new PageHabits();
    const streamOf = (productType: ProductType) =>
      new StreamRun(own, { account: name, productType }, pageHabits);
    const asking = { ...own, assertHeld: held.assertHeld };
    const { mode, streams } = await meetAccount(asking, account, state, streamOf);
    const types = streams.map(({ stream }) => stream.productType);
    await deps.prove?.({ mode, productTypes: types }, held);
    report = { ...report, mode, closed: await recordMode(own, account, state, { mode, streams }) };
    if (streams.length === 0) refuseNothing(account, mode);
    if (ltv) {
      const operation = mode === "classic" ? classicLoanToValue : unifiedLoanToValue;
      const loanToValue = await syncLoanToValue({ ...own, operation }, name, riskUnitIds);
      report = { ...report, loanToValue };
    }
    // A key that is refused once is refused: the bills would only ask again.
    const refused = report.loanToValue.find(({ error }) => isRefusal(error))?.error;
    if (refused !== undefined) throw refused;
    const bills = await syncBills(own, streams, readsAll);
    await held.store.refreshDays();
    return { ...report, ...bills };
  } catch (error) {
    return { ...report, error };
  }
}

type OwnDeps = RunDeps & BillsDeps;

/** Writes down a mode that is another one than it was. @returns the streams that it closed. */
async function recordMode(
  { held, exchangeNow, settleLagMs }: Pick<OwnDeps, "held" | "exchangeNow" | "settleLagMs">,
  account: SyncAccount,
  state: AccountState,
  { mode, streams }: Met<StreamRun>,
): Promise<readonly ClosedStream[]> {
  const { name } = account;
  const isKnown =
    state.mode?.is === mode &&
    state.closed.every(({ productType }) => modeOf(productType) !== mode);
  // Where the classic API refused all that it was asked for, it told no mode.
  const isTold = mode === "unified" || streams.some(({ reader }) => reader.hasAnswered);
  if (isKnown || !isTold) return [];
  for (const productType of leftUnplanned(account, state, mode)) {
    const stream = { account: name, productType };
    const known = await held.store.knownTime(stream);
    if (isUnplanned(known)) {
      await held.store.recordPlan(planStream(stream, known, { now: exchangeNow(), settleLagMs }));
    }
  }
  await held.store.recordMode(mode, exchangeNow());
  const { closed } = await held.store.accountState();
  const isNew = (productType: ProductType) =>
    state.closed.every((before) => before.productType !== productType);
  return Promise.all(
    closed
      .filter(({ productType }) => isNew(productType))
      .map(async ({ productType, closedAt }) => {
        const stream = { account: name, productType };
        return { stream, closedAt, ...closedTime(await held.store.knownTime(stream), closedAt) };
      }),
  );
}

/**
 * What was to be read in the mode before. A first sync that was interrupted may not have come to plan
 * all of it: it is planned now, so that what is closed says that none of it was read.
 */
const leftUnplanned = (
  { productTypes }: SyncAccount,
  { mode: last, notAvailable }: AccountState,
  mode: AccountMode,
): readonly ProductType[] =>
  last === undefined || last.is === mode
    ? []
    : productTypes.filter(
        (productType) =>
          modeOf(productType) === last.is &&
          notAvailable.every((refused) => refused.productType !== productType),
      );

const isUnplanned = ({ coverage, expired, open }: KnownTime): boolean =>
  coverage.length + expired.length + open.length === 0;

const isRefusal = (error: unknown): boolean =>
  error instanceof ExchangeError && failureScope(error) === "account";

/**
 * Whether nothing is missing: all stored, every window walked, no row rejected, no time found lost,
 * neither behind the horizon nor with a stream that was closed.
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
