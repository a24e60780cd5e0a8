import type { RecoverReporter } from "../../commands/io.ts";
import type { Bill } from "../../core/contract/bill.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import { asPrinted } from "../../core/contract/scalars.ts";
import { type TaxApi, taxApiOf } from "../../core/contract/tax-records.ts";
import type { RecoverBills, RecoverReport } from "../../core/sync/account-report.ts";
import type { AccountDeps } from "../../core/sync/ledger-run.ts";
import {
  type Interval,
  interval,
  lengthMs,
  split,
  subtract,
  union,
} from "../../core/words/intervals.ts";
import type { KnownTime, Ledger } from "../../core/words/ledger.ts";
import { ledgerStart } from "../../core/words/plan.ts";
import { withoutZeros } from "../../lib/decimal.ts";
import { ContradictionError, type ExchangeError, isRefused, messageOf } from "../../lib/errors.ts";
import { dayMs, type EpochMs, epochMs } from "../../lib/time.ts";
import {
  type Compared,
  commitRecovered,
  type Overlap,
  type RecoveryState,
  readCompared,
  readOverlap,
  readRecoveryStates,
  recordTaxComparison,
  type TaxComparison,
} from "./recovery.ts";
import { readTaxWindows } from "./tax-windows.ts";

export { readNotRecovered } from "./recovery.ts";

/*
 * Bills go back 90 days. Older time, and lost time, is recovered from tax records: the same amounts and fees, without
 * coupons and mostly without balances. They are believed after they were compared with stored bills.
 */

/** How far back bills are wanted where no setting says otherwise. */
const recoverDefaultMs = 2 * 365 * dayMs;

// So long a comparison holds, and a key without the right is not asked again.
const compareAgainMs = dayMs;

type Choices = {
  /** The oldest time that is wanted. Default two years. */
  readonly recoverFrom: EpochMs | "none" | undefined;
  readonly reporter?: RecoverReporter;
};

/** The recovery of the older time of an account's ledgers, as a sync ends with it. */
export const recoveryWith =
  ({ recoverFrom, reporter }: Choices): RecoverBills =>
  (deps, account, productTypes) => {
    const now = deps.exchangeNow();
    // With "none", a sync forgets what it noted of tax records.
    const oldest = recoverFrom === "none" ? now : (recoverFrom ?? epochMs(now - recoverDefaultMs));
    return recoverBills({ ...deps, reporter, oldest }, account, productTypes);
  };

type Deps = AccountDeps & {
  readonly reporter: RecoverReporter | undefined;
  /** The oldest time that is wanted. */
  readonly oldest: EpochMs;
};

/** Recovers the older time of an account's ledgers. Never throws: failures are in the reports. */
async function recoverBills(
  deps: Deps,
  account: string,
  productTypes: readonly ProductType[],
): Promise<readonly RecoverReport[]> {
  const recoverable = productTypes.filter((productType) => taxApiOf(productType) !== undefined);
  const states = await deps.leased.store.read((db) => readRecoveryStates(db, account, recoverable));
  const plans: Plan[] = [];
  for (const productType of recoverable)
    plans.push(...(await planOf(deps, { account, productType }, states.of(productType))));
  // A ledger without bills has nothing to compare: another one of the account and the operation proves its records, too.
  const hasProof = ({ believed, overlap }: Plan) => believed !== undefined || overlap.length > 0;
  const byProof = [...plans.filter(hasProof), ...plans.filter((plan) => !hasProof(plan))];
  if (byProof.length > 0) {
    const types = byProof.map(({ ledger }) => ledger.productType).join(", ");
    deps.reporter?.notice(
      `${account}: older bills of ${types} come from tax records, at a request a second`,
    );
    const planned = lengthMs(byProof.flatMap(({ wanted }) => wanted));
    deps.reporter?.step("recovered", { planned });
  }
  // Each operation has a rate limit of its own.
  const ofOperations = Map.groupBy(byProof, ({ api }) => api.operation);
  const reports = [...ofOperations.values()].map(async (ofOperation) => {
    let isProven = false;
    const ofLedgers: RecoverReport[] = [];
    for (const plan of ofOperation) {
      const recovery = new LedgerRecovery(deps, plan);
      ofLedgers.push(await recovery.recover(isProven));
      isProven ||= recovery.isProof;
    }
    return ofLedgers;
  });
  return (await Promise.all(reports)).flat();
}

/** What is wanted of a ledger, and what proves it. */
type Plan = {
  readonly api: TaxApi;
  readonly ledger: Ledger;
  readonly wanted: readonly Interval[];
  /** The comparison of the last day, if the records were believed. */
  readonly believed: TaxComparison | undefined;
  readonly overlap: readonly Overlap[];
};

/** None where nothing is wanted, or where the records were not believed within a day. */
async function planOf(deps: Deps, ledger: Ledger, state: RecoveryState): Promise<readonly Plan[]> {
  const { leased, exchangeNow, oldest } = deps;
  const api = taxApiOf(ledger.productType);
  if (api === undefined) return [];
  const { comparison, known } = state;
  const now = exchangeNow();
  const wanted = olderTime(known, Math.max(oldest, now - (api.reachMs ?? now)), now);
  // Time that was recovered in part and is no longer wanted is forgotten.
  if (wanted.length === 0 && comparison?.partlyRecovered?.length)
    await keep(deps, ledger, { ...comparison, partlyRecovered: [] });
  if (wanted.length === 0) return [];
  const plan = { api, ledger, wanted };
  if (comparison !== undefined && now - comparison.at < compareAgainMs)
    return comparison.notRecoveredReason === undefined
      ? [{ ...plan, believed: comparison, overlap: [] }]
      : [];
  const overlap = await leased.store.read((db) =>
    readOverlap(db, ledger, { coverage: known.coverage, windowMaxMs: api.windowMaxMs }),
  );
  return [{ ...plan, believed: undefined, overlap }];
}

const keep = ({ leased }: Deps, ledger: Ledger, evidence: TaxComparison): Promise<void> =>
  leased.store.write((tx) => recordTaxComparison(tx, ledger, evidence));

/** The time before the first bills' page, and lost time, from `least` on, newest first. */
function olderTime(known: KnownTime, least: number, now: EpochMs): readonly Interval[] {
  const older = interval(least, ledgerStart(known, now));
  const behind = known.lost.flatMap(({ from, to }) => interval(Math.max(from, least), to));
  return subtract(union([...older, ...behind]), known.recovered ?? []).toReversed();
}

/** The recovery of one ledger. */
class LedgerRecovery {
  readonly #deps: Deps;
  readonly #plan: Plan;
  readonly #counts = { new: 0, unchanged: 0, restated: 0, rejected: 0 };
  readonly #recovered: Interval[] = [];
  readonly #partlyRecovered: EpochMs[] = [];
  readonly #limits = new Set<number>();
  #requests = 0;
  #leftMs: number;
  #isProof = false;

  constructor(deps: Deps, plan: Plan) {
    this.#deps = deps;
    this.#plan = plan;
    this.#leftMs = lengthMs(plan.wanted);
  }

  /** Whether the operation's records were found equal to bills of the ledger. */
  get isProof(): boolean {
    return this.#isProof;
  }

  /** @param isProven whether the operation's records were found equal to the bills of another ledger of the account. */
  async recover(isProven: boolean): Promise<RecoverReport> {
    const { ledger, believed } = this.#plan;
    try {
      const comparison = believed ?? (await this.#compare(isProven));
      const { compared, notRecoveredReason } = comparison;
      if (believed === undefined) await keep(this.#deps, ledger, comparison);
      if (notRecoveredReason === undefined) {
        this.#isProof = compared > 0;
        await this.#descend();
        const partlyRecovered = this.#partlyRecovered;
        await keep(this.#deps, ledger, { ...comparison, partlyRecovered });
      }
      return this.#report({ notRecoveredReason, error: undefined });
    } catch (error) {
      return this.#report({ notRecoveredReason: undefined, error });
    } finally {
      this.#pass(this.#leftMs);
    }
  }

  #pass(ms: number): void {
    this.#leftMs -= ms;
    this.#deps.reporter?.step("recovered", { done: ms });
  }

  #report(end: Pick<RecoverReport, "notRecoveredReason" | "error">): RecoverReport {
    return {
      ...{ ledger: this.#plan.ledger, ...this.#counts, requests: this.#requests, ...end },
      recovered: union(this.#recovered),
      partlyRecovered: this.#partlyRecovered,
    };
  }

  async #compare(isProven: boolean): Promise<TaxComparison> {
    const { leased, exchangeNow } = this.#deps;
    const { ledger, overlap } = this.#plan;
    let compared = 0;
    const ended = (notRecoveredReason?: string): TaxComparison => {
      return { at: exchangeNow(), compared, notRecoveredReason };
    };
    if (overlap.length === 0)
      return isProven ? ended() : ended("no stored bill can be compared with the tax records yet");
    try {
      let done: readonly Interval[] = [];
      for (const { asked, needed } of overlap) {
        if (subtract([needed], done).length === 0) continue;
        for await (const { window, rows } of this.#parts(subtract([asked], done).slice(-1))) {
          const { from, to } = window;
          const records = rows.bills.filter(({ cTime }) => cTime >= from && cTime < to);
          const known = await leased.store.read((db) =>
            readCompared(db, ledger, { window, records }),
          );
          compared += known.stored.length;
          const differing = differences(known, records);
          const [first] = differing;
          if (first !== undefined)
            return ended(
              `tax records differ from ${differing.length} of ${compared} stored bills: ${first}`,
            );
          done = union([...done, window]);
          if (subtract([needed], done).length === 0) break;
        }
      }
      return ended();
    } catch (error) {
      if (isRefused(error)) return ended(`the key may not read tax records: ${messageOf(error)}`);
      if (error instanceof ContradictionError) return ended(error.message);
      throw error;
    }
  }

  async #descend(): Promise<void> {
    const { store } = this.#deps.leased;
    const { api, ledger, wanted } = this.#plan;
    const windows = wanted.flatMap((span) => split(span, api.windowMaxMs).toReversed());
    for await (const { window, rows, isWhole } of this.#parts(windows)) {
      const proven = isWhole ? window : undefined;
      const commit = { ledger, window: proven, ...rows };
      const counts = await store.write((tx) => commitRecovered(tx, commit));
      for (const name of ["new", "unchanged", "restated", "rejected"] as const)
        this.#counts[name] += counts[name];
      this.#pass(lengthMs([window]));
      if (isWhole) this.#recovered.push(window);
      else this.#partlyRecovered.push(window.from);
    }
  }

  #parts(windows: readonly Interval[]) {
    const { client, leased, signal, onFailure } = this.#deps;
    const onAttempt = (failure: ExchangeError | undefined) => {
      this.#requests += 1;
      if (failure !== undefined) onFailure(failure);
    };
    const { assertHeld } = leased;
    const { api } = this.#plan;
    const deps = { client, api, assertHeld, signal, onAttempt, limits: this.#limits };
    return readTaxWindows(deps, windows);
  }
}

/** In what the tax records of a window differ from its stored bills, as text. */
function differences(
  { stored, rejectedIds }: Compared,
  records: readonly Bill[],
): readonly string[] {
  const recordOf = new Map(records.map((record) => [record.billId, record]));
  const known = new Set([...stored.map(({ billId }) => billId), ...rejectedIds]);
  return [
    ...stored.flatMap((bill) => {
      const record = recordOf.get(bill.billId);
      if (record === undefined)
        return bill.hasRecord ? [`bill ${bill.billId} is not among them`] : [];
      const isEqual =
        record.cTime === bill.cTime &&
        sameDecimal(record.amount, bill.amount) &&
        sameDecimal(record.fee, bill.fee);
      if (!isEqual) return [`bill ${bill.billId} has another time, amount or fee`];
      const isBalanced =
        record.balance === null ||
        bill.balance === null ||
        sameDecimal(record.balance, bill.balance);
      return isBalanced ? [] : [`bill ${bill.billId} has another balance`];
    }),
    ...records.flatMap(({ billId }) => (known.has(billId) ? [] : [`${billId} is not stored`])),
  ];
}

/** Whether two decimals are equal, however they are written: 0 and 0E-8, 1.50 and 1.5. */
const sameDecimal = (one: string, other: string): boolean => plain(one) === plain(other);

const plain = (text: string): string => withoutZeros(asPrinted(text));
