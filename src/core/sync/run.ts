import PQueue from "p-queue";
import { ExchangeError, isRefused, messageOf } from "../../lib/errors.ts";
import { billsApiOf, billsOperations } from "../contract/bills-api.ts";
import {
  loanToValue as classicLoanToValue,
  unifiedLoanToValue,
} from "../contract/loan-to-value.ts";
import { isDemoProductType, isSpotOrFunding, type ProductType } from "../contract/product-types.ts";
import type { LeasedAccount } from "../store/ledger-store.ts";
import type { AccountMode, AccountState, NotAvailable, Wanted } from "../words/account-state.ts";
import type { Walk } from "../words/ledger.ts";
import {
  assertSomethingToRead,
  type EndedLedger,
  endLedgersOfOtherMode,
  identifyAccount,
} from "./account-mode.ts";
import { failureScope } from "./failure-scope.ts";
import { type BillsDeps, type HeldDeps, type LedgerReport, LedgerRun } from "./ledger-run.ts";
import { type RecoverBills, type RecoverReport, withoutRecovered } from "./recovered.ts";
import { askBalances, commitBalances } from "./sync-balances.ts";
import { type LoanToValueReport, syncLoanToValue } from "./sync-loan-to-value.ts";
import { syncWithdrawals } from "./sync-withdrawals.ts";
import { PageHabits } from "./walk/answers.ts";

/** The account that a run syncs. */
type SyncAccount = Wanted & {
  readonly name: string;
  /** Whether the account's loan-to-value is synced. Default false. */
  readonly ltv?: boolean;
  /** The risk units of a parent account. Default the account's own. */
  readonly riskUnitIds?: readonly string[];
};

type AccountSyncDeps = Omit<BillsDeps, "held" | "client" | "exchangeNow"> & {
  readonly exchangeOf: (account: SyncAccount) => Pick<BillsDeps, "client" | "exchangeNow">;
  /** Recovers the older time of ledgers whose bills were read. Default none is recovered. */
  readonly recover?: RecoverBills | undefined;
  /** Called with every failed request for loan-to-value, tax records or the account's mode. */
  readonly onFailure: (failure: ExchangeError) => void;
  /** @throws AccountHeldError where another run holds the account. */
  readonly takeLease: (account: string) => Promise<LeasedAccount & AsyncDisposable>;
};

export type AccountReport = Partial<Pick<BillsReport, "notAvailable">> & {
  readonly account: string;
  readonly loanToValue: readonly LoanToValueReport[];
  readonly ledgers: readonly LedgerReport[];
  /** The account's mode; undefined where the run failed before it was known. */
  readonly mode?: AccountMode;
  /** What was recovered from tax records: only ledgers of which older time was wanted. Default none. */
  readonly recovery?: readonly RecoverReport[];
  /** The ledgers that this run ended. */
  readonly ended?: readonly EndedLedger[];
  /** The error that ended the account's run. `ledgers` are then those of which something was stored. */
  readonly error: unknown;
};

/**
 * Syncs one account under its lease: first its loan-to-value, if that is asked for, then its bills.
 * Never throws: failures are in the report.
 */
export async function syncAccount(
  deps: AccountSyncDeps,
  account: SyncAccount,
): Promise<AccountReport> {
  const { name, ltv = false, riskUnitIds = [], readsAll = false } = account;
  let report: AccountReport = { account: name, loanToValue: [], ledgers: [], error: undefined };
  let runs: readonly LedgerRun[] = [];
  try {
    await using held = await deps.takeLease(name);
    const accountDeps = { ...deps, ...deps.exchangeOf(account), held };
    const state = await held.store.accountState();
    const pageHabits = new PageHabits();
    const ledgerOf = (productType: ProductType) =>
      new LedgerRun(accountDeps, { account: name, productType }, pageHabits);
    const asking = { ...accountDeps, assertHeld: held.assertHeld };
    const accountAnswer = await identifyAccount(asking, account, state, ledgerOf);
    const { mode, info, ledgers } = accountAnswer;
    runs = ledgers;
    const types = ledgers.map(({ ledger }) => ledger.productType);
    await held.takeKey?.({ info, productTypes: types });
    report = {
      ...report,
      mode,
      ended: await endLedgersOfOtherMode(accountDeps, account, state, accountAnswer),
    };
    if (ledgers.length === 0) assertSomethingToRead(account, mode);
    if (ltv) {
      const operation = mode === "classic" ? classicLoanToValue : unifiedLoanToValue;
      const loanToValue = await syncLoanToValue({ ...accountDeps, operation }, name, riskUnitIds);
      report = { ...report, loanToValue };
    }
    // The exchange has refused the key or the whole account, so it would refuse its bills, too.
    const refused = report.loanToValue.find(({ error }) => isRefusal(error))?.error;
    if (refused !== undefined) throw refused;
    const { balances, ...bills } = await syncBills(accountDeps, state, ledgers, readsAll);
    report = { ...report, ...bills };
    const whole = bills.ledgers.filter((ledger) => ledger.error === undefined);
    await syncWithdrawals(accountDeps, name, state);
    await commitBalances(accountDeps, state, balances, whole);
    if (deps.recover === undefined || whole.length === 0) return report;
    const productTypes = whole.map(({ ledger }) => ledger.productType);
    const recovery = await deps.recover(accountDeps, name, productTypes);
    return { ...report, ledgers: withoutRecovered(report.ledgers, recovery), recovery };
  } catch (error) {
    const stored = runs.map(({ done }) => done).filter(({ pages }) => pages > 0);
    return { ...report, ledgers: report.ledgers.length === 0 ? stored : report.ledgers, error };
  }
}

/** Waits for both, and leaves none at work behind an error: the account is given back then. */
async function together<A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> {
  await Promise.allSettled([a, b]);
  return [await a, await b];
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ExchangeError && failureScope(error) === "account";

/** The result of syncing an account's bills. */
type BillsReport = {
  readonly ledgers: readonly LedgerReport[];
  /** The product types that were refused to the account's key in this run; delisted ones by the first run alone. */
  readonly notAvailable: readonly Pick<NotAvailable, "productType" | "reason">[];
};

/**
 * Syncs the bills of an account's product types up to now. The windows of all of them are walked oldest
 * first, many at once under one rate limiter. A product type that
 * fails does not stop the others. Its report has the error.
 *
 * @param state what earlier runs have learned about the account.
 * @param ledgers the ledgers to sync. A signed answer must have set the exchange's clock already.
 * @param readsAll whether the key may lack permission for some of them without this being a failure.
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
async function syncBills(
  deps: HeldDeps & Pick<BillsDeps, "client" | "onProgress" | "signal">,
  state: AccountState,
  ledgers: readonly LedgerRun[],
  readsAll: boolean,
): Promise<BillsReport & { readonly balances: Awaited<ReturnType<typeof askBalances>> }> {
  await Promise.all(ledgers.map((ledger) => ledger.prepare()));
  const before = readsAll ? (await deps.held.store.accountState()).notAvailable : [];
  const isNew = ({ ledger }: LedgerRun) =>
    before.every(({ productType }) => productType !== ledger.productType);
  // A refusal counts once it is repeated, be it by a later run.
  if (readsAll)
    await Promise.all(
      notAvailableOf(ledgers)
        .filter(isNew)
        .map((ledger) => ledger.askAgain()),
    );
  const notAvailable = readsAll ? notAvailableOf(ledgers) : [];
  if (readsAll) await recordAvailability(deps, ledgers, notAvailable, before);
  const wanted = ledgers.filter((ledger) => !notAvailable.includes(ledger));
  const served = wanted.filter(({ refusal }) => refusal === undefined);
  const [balances] = await together(askBalances(deps, state, served), readLedgers(deps, wanted));
  return {
    balances,
    ledgers: await Promise.all(wanted.map((ledger) => ledger.report())),
    // Delisted products are told once.
    notAvailable: notAvailable
      .filter((ledger) => isNew(ledger) || !isDemoProductType(ledger.ledger.productType))
      .map(refusalOf),
  };
}

/** Plans the ledgers that were prepared and not refused, and walks their windows. */
export async function readLedgers(
  deps: Pick<BillsDeps, "onProgress">,
  ledgers: readonly LedgerRun[],
): Promise<void> {
  const walks = [];
  failRefused(deps, ledgers);
  for (const ledger of ledgers.filter(({ hasFailed }) => !hasFailed)) {
    for (const walk of await ledger.plan()) walks.push({ ledger, walk });
  }
  await walkAll(walks);
}

/**
 * The ledgers that are not available to the key. They were never read, and the exchange serves other
 * ledgers. A key that may read no futures, or may no longer read what it read before, counts as failed instead.
 */
const notAvailableOf = (ledgers: readonly LedgerRun[]): readonly LedgerRun[] =>
  ledgers.every(
    ({ refusal, ledger }) => refusal !== undefined || isSpotOrFunding(ledger.productType),
  )
    ? []
    : ledgers.filter(({ refusal, isNeverRead }) => isRefused(refusal) && isNeverRead);

/** Fails the refused ledgers. Each refusal is reported once, with all product types that it concerns. */
function failRefused(
  { onProgress }: Pick<BillsDeps, "onProgress">,
  ledgers: readonly LedgerRun[],
): void {
  const refused = ledgers.filter(({ refusal }) => refusal !== undefined);
  for (const ledger of refused) ledger.acceptRefusal();
  const alike = Map.groupBy(refused, ({ refusal }) => messageOf(refusal));
  for (const [first, ...others] of alike.values()) {
    if (first === undefined) continue;
    const { ledger, refusal } = first;
    const also = others.map((other) => other.ledger.productType);
    onProgress({ ledger, event: "failed", error: refusal, also });
  }
}

const refusalOf = ({ ledger, refusal }: LedgerRun) => ({
  productType: ledger.productType,
  reason: messageOf(refusal),
});

async function recordAvailability(
  { held, exchangeNow }: HeldDeps,
  ledgers: readonly LedgerRun[],
  notAvailable: readonly LedgerRun[],
  before: readonly NotAvailable[],
): Promise<void> {
  const answered = ledgers
    .filter(({ hasAnswered }) => hasAnswered)
    .map(({ ledger }) => ledger.productType)
    .filter((productType) => before.some((one) => one.productType === productType));
  if (answered.length === 0 && notAvailable.length === 0) return;
  for (const ledger of notAvailable) await ledger.withdraw();
  const refused = notAvailable.map(refusalOf);
  await held.store.recordAvailability({ refused, answered, askedAt: exchangeNow() });
}

// Enough for all windows of an account's first sync: 13 for each of six product types. A walk's length is
// known only after its first page. With 16 walks at once, the longest could be the last to begin: at 800 ms
// a request, a backfill then took 82 s instead of 72.
const walksAtOnce = 128;

async function walkAll(
  walks: readonly { readonly ledger: LedgerRun; readonly walk: Walk }[],
): Promise<void> {
  const accountStopped = new AbortController();
  // Each operation has a rate limit of its own.
  const queues = new Map(
    billsOperations.map((one) => [one, new PQueue({ concurrency: walksAtOnce })]),
  );
  for (const { ledger, walk } of walks.toSorted(
    (a, b) => a.walk.window.from - b.walk.window.from,
  )) {
    void queues.get(billsApiOf(ledger.ledger.productType).operation)?.add(async () => {
      const error = await ledger.walk(walk, accountStopped.signal);
      if (error !== undefined && failureScope(error) === "account") accountStopped.abort(error);
    });
  }
  for (const queue of queues.values()) await queue.onIdle();
}
