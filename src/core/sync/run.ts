import { ExchangeError } from "../../lib/errors.ts";
import { billsApiOf, billsOperations } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import { readAccountState } from "../store/accounts/account-states.ts";
import type { Store } from "../store/ledger-store.ts";
import type { Wanted } from "../words/account-state.ts";
import type { PlannedWindow } from "../words/ledger.ts";
import { assertSomethingToRead, identifyAccount, recordMode } from "./account-mode.ts";
import {
  type AccountReport,
  failedReport,
  type RecoverBills,
  withoutRecovered,
} from "./account-report.ts";
import { failRefusedLedgers, leaveOutNotAvailable, withoutDelisted } from "./availability.ts";
import { failureScope } from "./failure-scope.ts";
import { type AccountDeps, type LedgerDeps, LedgerRun } from "./ledger-run.ts";
import { askBalances, recordBalances } from "./sync-balances.ts";
import { syncLoanToValue } from "./sync-loan-to-value.ts";
import { syncWithdrawals } from "./sync-withdrawals.ts";
import { PageLengths } from "./walk/answers.ts";
import { WindowWalk } from "./walk/walk.ts";
import { type PartsWanted, WalkQueue } from "./walk-queue.ts";

/** The account that a run syncs. */
type SyncAccount = Wanted & {
  readonly name: string;
  /** Whether the account's loan-to-value is synced. Default false. */
  readonly ltv?: boolean;
  /** The risk units of a parent account. Default the account's own. */
  readonly riskUnitIds?: readonly string[];
};

/** Recovers the older time of ledgers whose bills were read. Default none is recovered. */
type Recovering = { readonly recover?: RecoverBills | undefined };

/**
 * Syncs one account under its lease: first its loan-to-value, if that is asked for, then its bills.
 * Never throws: failures are in the report.
 */
export async function syncAccount(
  deps: AccountDeps & Recovering,
  account: SyncAccount,
): Promise<AccountReport> {
  const { name, ltv = false, riskUnitIds = [], readsAll = false } = account;
  const { leased, recover } = deps;
  const report: { -readonly [Part in keyof AccountReport]: AccountReport[Part] } = {
    ...failedReport(name, undefined),
  };
  let runs: readonly LedgerRun[] = [];
  try {
    const state = await leased.store.read((from) => readAccountState(from, name));
    const pageLengths = new PageLengths();
    const ledgerOf = (productType: ProductType) =>
      new LedgerRun(deps, { account: name, productType }, pageLengths);
    const asking = { ...deps, assertHeld: leased.assertHeld };
    const identity = await identifyAccount(asking, account, state, ledgerOf);
    const { mode, info } = identity;
    const ledgers = withoutDelisted(identity.ledgers, readsAll && state, deps.exchangeNow());
    runs = ledgers;
    const productTypes = identity.ledgers.map(({ ledger }) => ledger.productType);
    await leased.acceptKey?.({ info, productTypes });
    report.mode = mode;
    report.ended = await recordMode(deps, account, state, identity);
    if (identity.ledgers.length === 0) assertSomethingToRead(account, mode);
    if (ltv) report.loanToValue = await syncLoanToValue(deps, mode, name, riskUnitIds);
    // The exchange has refused the key or the whole account, so it would refuse its bills, too.
    const refused = report.loanToValue.find(({ error }) => isRefusal(error))?.error;
    if (refused !== undefined) throw refused;
    const known = await leased.store.knownTimes(ledgers.map(({ ledger }) => ledger));
    await Promise.all(ledgers.map((one) => one.probeBeforeWalks(known.of(one.ledger))));
    const { wanted, notAvailable } = await leaveOutNotAvailable(deps, ledgers, readsAll && state);
    report.notAvailable = notAvailable;
    const served = wanted.filter(({ refusal }) => refusal === undefined);
    // What wallets hold is asked for beside the walks, and what a product type refuses stops no other.
    const reading = { ...deps, recordPlans: leased.store.recordPlans };
    const [balances] = await both(askBalances(deps, state, served), readLedgers(reading, wanted));
    const knownAfter = await leased.store.knownTimes(wanted.map(({ ledger }) => ledger));
    report.ledgers = wanted.map((one) => one.report(knownAfter.of(one.ledger)));
    const whole = report.ledgers.filter(({ error }) => error === undefined);
    await syncWithdrawals(deps, name, state);
    await recordBalances(deps, state, balances, whole);
    if (recover === undefined || whole.length === 0) return report;
    const types = whole.map(({ ledger }) => ledger.productType);
    report.recovery = await recover(deps, name, types);
    report.ledgers = withoutRecovered(report.ledgers, report.recovery);
  } catch (error) {
    report.error = error;
    if (report.ledgers.length === 0)
      report.ledgers = runs.map(({ soFar }) => soFar).filter(({ pages }) => pages > 0);
  }
  return report;
}

/** Waits for both, and leaves none at work behind an error: the account is given back then. */
async function both<A, B>(a: Promise<A>, b: Promise<B>): Promise<readonly [A, B]> {
  await Promise.allSettled([a, b]);
  return [await a, await b];
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ExchangeError && failureScope(error) === "account";

/**
 * Reads all that is unread of ledgers that were probed: each window, page by page, many windows at once, the oldest first.
 * A ledger's failure is in its report, and stops no other.
 */
export async function readLedgers(
  deps: Pick<LedgerDeps, "onProgress"> & Pick<Store, "recordPlans">,
  ledgers: readonly LedgerRun[],
): Promise<void> {
  failRefusedLedgers(deps, ledgers);
  const accountFailed = new AbortController();
  const queues = new Map(billsOperations.map((one) => [one, new WalkQueue(one.limit.requests)]));

  async function read(ledger: LedgerRun, window: PlannedWindow, partsWanted: PartsWanted) {
    try {
      const signal = ledger.signalWith(accountFailed.signal);
      const walk = new WindowWalk(ledger, window, { signal, partsWanted });
      while (!walk.isOver) {
        const answer = await walk.ask();
        const page = walk.check(answer);
        // The last page closes the window: its time is covered.
        if (page !== undefined) await ledger.commit(page, walk.walkedMs);
        walk.throwIfContradicted();
        for (const part of walk.handedBack) begin(ledger, part);
      }
    } catch (error) {
      ledger.fail(error);
      if (failureScope(error) === "account") accountFailed.abort(error);
    }
  }

  const begin = (ledger: LedgerRun, window: PlannedWindow): void =>
    queues
      .get(billsApiOf(ledger.ledger.productType).operation)
      ?.add((partsWanted) => read(ledger, window, partsWanted));

  const plans = ledgers
    .filter(({ hasFailed }) => !hasFailed)
    .map((ledger) => ({ ledger, plan: ledger.plan() }));
  await deps.recordPlans(plans.map(({ plan }) => plan));
  const all = plans.flatMap(({ ledger, plan }) =>
    plan.windows.map((planned) => ({ ledger, planned })),
  );
  all.sort((a, b) => a.planned.window.from - b.planned.window.from);
  for (const { ledger, planned } of all) begin(ledger, planned);
  for (const queue of queues.values()) await queue.ended();
}
