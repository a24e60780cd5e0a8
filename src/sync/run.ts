import {
  loanToValue as classicLoanToValue,
  unifiedLoanToValue,
} from "../contract/loan-to-value.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import { accountSettings } from "../contract/unified-account.ts";
import { ExchangeError, ReportableError } from "../errors.ts";
import { askMode } from "./account-mode.ts";
import {
  type AccountMode,
  type AccountState,
  askedFor,
  modeOf,
  type Wanted,
} from "./account-state.ts";
import { type BillsReport, syncBills } from "./bills.ts";
import { type ClosedTime, closedTime } from "./closed-time.ts";
import { failureScope } from "./failure-scope.ts";
import type { HeldAccount, Stream } from "./store.ts";
import { probeAccount } from "./stream-reader.ts";
import { type BillsDeps, type StreamReport, StreamRun } from "./stream-run.ts";
import { type LoanToValueReport, syncLoanToValue } from "./sync-loan-to-value.ts";

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
  readonly prove?: (productTypes: readonly ProductType[], held: HeldAccount) => Promise<void>;
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
    const { mode, streams } = await meetAccount(own, account, state);
    await deps.prove?.(
      streams.map(({ stream }) => stream.productType),
      held,
    );
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
    return { ...report, ...(await syncBills(own, streams, readsAll)) };
  } catch (error) {
    return { ...report, error };
  }
}

type OwnDeps = RunDeps & BillsDeps;

type Met = { readonly mode: AccountMode; readonly streams: readonly StreamRun[] };

/** Finds out the account's mode, and with it which streams there are. */
async function meetAccount(deps: OwnDeps, account: SyncAccount, state: AccountState): Promise<Met> {
  const { client, held, signal, exchangeNow, onFailure } = deps;
  const { name, productTypes } = account;
  const last = state.mode?.is;
  if (productTypes.length === 0) return { mode: last ?? "classic", streams: [] };
  const streamsOf = (mode: AccountMode) =>
    askedFor(account, state, mode, exchangeNow()).map(
      (productType) => new StreamRun(deps, { account: name, productType }),
    );
  const classic = streamsOf("classic");
  const ask = {
    classic: () => probeAccount(classic.map(({ reader }) => reader)),
    async settings() {
      const { data } = await client.ask(
        accountSettings,
        {},
        {
          signal,
          beforeSend: held.assertHeld,
          onAttempt: (failure) => failure !== undefined && onFailure(failure),
        },
      );
      return data.accountMode;
    },
  };
  const mode = await askMode(ask, name, classic.length === 0 ? "unified" : last);
  return { mode, streams: mode === "classic" ? classic : streamsOf(mode) };
}

/** Writes down a mode that is another one than it was. @returns the streams that it closed. */
async function recordMode(
  { held, exchangeNow }: Pick<OwnDeps, "held" | "exchangeNow">,
  { name }: SyncAccount,
  state: AccountState,
  { mode, streams }: Met,
): Promise<readonly ClosedStream[]> {
  const isKnown =
    state.mode?.is === mode &&
    state.closed.every(({ productType }) => modeOf(productType) !== mode);
  // Where the classic API refused all that it was asked for, it told no mode.
  const isTold = mode === "unified" || streams.some(({ reader }) => reader.hasAnswered);
  if (isKnown || !isTold) return [];
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

/** @throws ReportableError where product types were named, and the account has none of them. */
function refuseNothing({ name, productTypes, readsAll = false }: SyncAccount, mode: AccountMode) {
  if (productTypes.length === 0 || readsAll) return;
  const remedy =
    mode === "unified"
      ? "name those that begin with UTA-"
      : "name those that do not begin with UTA-";
  throw new ReportableError(
    `account ${name} is ${mode} and has no ${productTypes.join(", ")}: nothing of it was read; ` +
      `${remedy}, or leave PRODUCT_TYPES and productTypes out`,
  );
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
