import PQueue from "p-queue";
import { billsApiOf, billsOperations } from "../contract/bills-api.ts";
import {
  loanToValue as classicLoanToValue,
  unifiedLoanToValue,
} from "../contract/loan-to-value.ts";
import { isApartWallet, type ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import { ExchangeError, isRefused, messageOf } from "../errors.ts";
import {
  assertSomethingToRead,
  type ClosedStream,
  closeStreamsOfOtherMode,
  identifyAccount,
} from "./account-mode.ts";
import type { AccountMode, NotAvailable, Wanted } from "./account-state.ts";
import { failureScope } from "./failure-scope.ts";
import { subtract } from "./intervals.ts";
import { type RecoverDeps, type RecoverReport, recoverHistory } from "./recover.ts";
import type { LeasedAccount, Walk } from "./store.ts";
import { type BillsDeps, type HeldDeps, type StreamReport, StreamRun } from "./stream-run.ts";
import { syncBalances } from "./sync-balances.ts";
import { type LoanToValueReport, syncLoanToValue } from "./sync-loan-to-value.ts";
import { PageHabits } from "./walk/answers.ts";

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
  /** The oldest time that is wanted of tax records. Default none is read. */
  readonly historyFrom?: EpochMs | undefined;
  readonly onRecover?: RecoverDeps["onRecover"];
  /** Called with every failed request for loan-to-value, tax records or the account's mode. */
  readonly onFailure: (failure: ExchangeError) => void;
  /** @throws AccountHeldError where another run holds the account. */
  readonly takeLease: (account: string) => Promise<LeasedAccount & AsyncDisposable>;
};

export type AccountReport = Partial<Pick<BillsReport, "notAvailable">> & {
  readonly account: string;
  readonly loanToValue: readonly LoanToValueReport[];
  readonly streams: readonly StreamReport[];
  /** The account's mode; undefined where the run failed before it was known. */
  readonly mode?: AccountMode;
  /** What was recovered from tax records: only ledgers of which older time was wanted. Default none. */
  readonly history?: readonly RecoverReport[];
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
    const accountDeps = { ...deps, ...deps.exchangeOf(account), held };
    const state = await held.store.accountState();
    const pageHabits = new PageHabits();
    const streamOf = (productType: ProductType) =>
      new StreamRun(accountDeps, { account: name, productType }, pageHabits);
    const asking = { ...accountDeps, assertHeld: held.assertHeld };
    const accountAnswer = await identifyAccount(asking, account, state, streamOf);
    const { mode, info, streams } = accountAnswer;
    const types = streams.map(({ stream }) => stream.productType);
    await held.takeKey?.({ info, productTypes: types });
    report = {
      ...report,
      mode,
      closed: await closeStreamsOfOtherMode(accountDeps, account, state, accountAnswer),
    };
    if (streams.length === 0) assertSomethingToRead(account, mode);
    if (ltv) {
      const operation = mode === "classic" ? classicLoanToValue : unifiedLoanToValue;
      const loanToValue = await syncLoanToValue({ ...accountDeps, operation }, name, riskUnitIds);
      report = { ...report, loanToValue };
    }
    // The exchange has refused the key or the whole account, so it would refuse its bills, too.
    const refused = report.loanToValue.find(({ error }) => isRefusal(error))?.error;
    if (refused !== undefined) throw refused;
    const bills = await syncBills(accountDeps, streams, readsAll);
    report = { ...report, ...bills };
    const whole = bills.streams.filter((stream) => stream.error === undefined);
    await syncBalances(accountDeps, state, whole);
    const { historyFrom } = deps;
    if (historyFrom === undefined || whole.length === 0) return report;
    const productTypes = whole.map(({ stream }) => stream.productType);
    const history = await recoverHistory({ ...accountDeps, historyFrom }, name, productTypes);
    return { ...report, streams: withoutRecovered(report.streams, history), history };
  } catch (error) {
    return { ...report, error };
  }
}

/** Time that was lost to the bills and then recovered is not missing. */
const withoutRecovered = (
  streams: readonly StreamReport[],
  history: readonly RecoverReport[],
): readonly StreamReport[] =>
  streams.map((one) => {
    const ofStream = history.filter((part) => part.stream.productType === one.stream.productType);
    const recovered = ofStream.flatMap((part) => part.recovered);
    return { ...one, lost: subtract(one.lost, recovered) };
  });

const isRefusal = (error: unknown): boolean =>
  error instanceof ExchangeError && failureScope(error) === "account";

/**
 * Whether nothing is missing: there was no error, every window was walked, no row was rejected, no time was
 * found lost, no stream was closed with unread time, and no millisecond of tax records may hold more than was shown.
 * Tax records that are not believed, or that the key may not read, are a notice: the ledger is what it was without them.
 */
export function isComplete(report: AccountReport): boolean {
  const { error, closed = [], loanToValue, streams, history = [] } = report;
  return (
    error === undefined &&
    history.every(
      (one) => one.error === undefined && one.rejected === 0 && one.crowded.length === 0,
    ) &&
    closed.every(({ unread }) => unread.length === 0) &&
    loanToValue.every((unit) => unit.error === undefined) &&
    streams.every(
      ({ error, windows, rejected, lost }) =>
        error === undefined &&
        windows.walked === windows.planned &&
        rejected === 0 &&
        lost.length === 0,
    )
  );
}

/** The result of syncing an account's bills. */
export type BillsReport = {
  readonly streams: readonly StreamReport[];
  /** The product types that were refused to the account's key in this run. */
  readonly notAvailable: readonly Pick<NotAvailable, "productType" | "reason">[];
};

/**
 * Syncs the bills of an account's product types up to now. The windows of all of them are walked oldest
 * first, many at once under one rate limiter. A product type that
 * fails does not stop the others. Its report has the error.
 *
 * @param streams the streams to sync. A signed answer must have set the exchange's clock already.
 * @param readsAll whether the key may lack permission for some of them without this being a failure.
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
async function syncBills(
  deps: HeldDeps & Pick<BillsDeps, "onProgress">,
  streams: readonly StreamRun[],
  readsAll: boolean,
): Promise<BillsReport> {
  await Promise.all(streams.map((stream) => stream.prepare()));
  const before = readsAll ? (await deps.held.store.accountState()).notAvailable : [];
  const isNew = ({ stream }: StreamRun) =>
    before.every(({ productType }) => productType !== stream.productType);
  // A refusal counts once it is repeated, be it by a later run.
  if (readsAll)
    await Promise.all(
      notAvailableOf(streams)
        .filter(isNew)
        .map((stream) => stream.askAgain()),
    );
  const notAvailable = readsAll ? notAvailableOf(streams) : [];
  if (readsAll) await recordAvailability(deps, streams, notAvailable, before);
  const wanted = streams.filter((stream) => !notAvailable.includes(stream));
  await readStreams(deps, wanted);
  return {
    streams: await Promise.all(wanted.map((stream) => stream.report())),
    notAvailable: notAvailable.map(refusalOf),
  };
}

/** Plans the streams that were prepared and not refused, and walks their windows. */
export async function readStreams(
  deps: Pick<BillsDeps, "onProgress">,
  streams: readonly StreamRun[],
): Promise<void> {
  const walks = [];
  failRefused(deps, streams);
  for (const stream of streams.filter(({ hasFailed }) => !hasFailed)) {
    for (const walk of await stream.plan()) walks.push({ stream, walk });
  }
  await walkAll(walks);
}

/**
 * The streams that are not available to the key. They were never read, and the exchange serves other
 * streams. A key that may read no futures, or may no longer read what it read before, counts as failed instead.
 */
const notAvailableOf = (streams: readonly StreamRun[]): readonly StreamRun[] =>
  streams.every(({ refusal, stream }) => refusal !== undefined || isApartWallet(stream.productType))
    ? []
    : streams.filter(({ refusal, isUnread }) => isRefused(refusal) && isUnread);

/** Fails the refused streams. Each refusal is reported once, with all product types that it concerns. */
function failRefused(
  { onProgress }: Pick<BillsDeps, "onProgress">,
  streams: readonly StreamRun[],
): void {
  const refused = streams.filter(({ refusal }) => refusal !== undefined);
  for (const stream of refused) stream.acceptRefusal();
  const alike = Map.groupBy(refused, ({ refusal }) => messageOf(refusal));
  for (const [first, ...others] of alike.values()) {
    if (first === undefined) continue;
    const { stream, refusal } = first;
    const also = others.map((other) => other.stream.productType);
    onProgress({ stream, event: "failed", error: refusal, also });
  }
}

const refusalOf = ({ stream, refusal }: StreamRun) => ({
  productType: stream.productType,
  reason: messageOf(refusal),
});

async function recordAvailability(
  { held, exchangeNow }: HeldDeps,
  streams: readonly StreamRun[],
  notAvailable: readonly StreamRun[],
  before: readonly NotAvailable[],
): Promise<void> {
  const answered = streams
    .filter(({ hasAnswered }) => hasAnswered)
    .map(({ stream }) => stream.productType)
    .filter((productType) => before.some((one) => one.productType === productType));
  if (answered.length === 0 && notAvailable.length === 0) return;
  for (const stream of notAvailable) await stream.withdraw();
  const refused = notAvailable.map(refusalOf);
  await held.store.recordAvailability({ refused, answered, askedAt: exchangeNow() });
}

// Enough for all windows of an account's first sync: 13 for each of six product types. A walk's length is
// known only after its first page. With 16 walks at once, the longest could be the last to begin: at 800 ms
// a request, a backfill then took 82 s instead of 72.
const walksAtOnce = 128;

async function walkAll(
  walks: readonly { readonly stream: StreamRun; readonly walk: Walk }[],
): Promise<void> {
  const accountStopped = new AbortController();
  // Each operation has a rate limit of its own.
  const queues = new Map(
    billsOperations.map((one) => [one, new PQueue({ concurrency: walksAtOnce })]),
  );
  for (const { stream, walk } of walks.toSorted(
    (a, b) => a.walk.window.from - b.walk.window.from,
  )) {
    void queues.get(billsApiOf(stream.stream.productType).operation)?.add(async () => {
      const error = await stream.walk(walk, accountStopped.signal);
      if (error !== undefined && failureScope(error) === "account") accountStopped.abort(error);
    });
  }
  for (const queue of queues.values()) await queue.onIdle();
}
