import { billsApiOf } from "../../core/contract/bills-api.ts";
import type { RowFault } from "../../core/contract/json.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import type { DifferingBill, FieldChange, VerifyStore } from "../../core/store/verify-store.ts";
import { probeAccount } from "../../core/sync/ledger-reader.ts";
import { type LedgerDeps, LedgerRun, type LedgerStore } from "../../core/sync/ledger-run.ts";
import { readLedgers } from "../../core/sync/run.ts";
import { PageLengths } from "../../core/sync/walk/answers.ts";
import { isOutOfRange } from "../../core/sync/walk/out-of-range-rows.ts";
import { type Interval, intersect, interval } from "../../core/words/intervals.ts";
import type { KnownTime, Ledger } from "../../core/words/ledger.ts";
import type { PageCommit, PageCounts, ReadRows, RejectedRow } from "../../core/words/page.ts";
import { horizonAt } from "../../core/words/plan.ts";
import { ReportableError } from "../../lib/errors.ts";
import { type EpochMs, epochMs, isoTime, secondMs } from "../../lib/time.ts";

export type VerifyDeps = Omit<LedgerDeps, "leased" | "settleLagMs"> & {
  readonly assertHeld: () => void;
  readonly store: VerifyStore;
  /** Whether to write what differs. */
  readonly repair: boolean;
};

/** A difference between what is stored and what was served. */
export type Difference = { readonly ledger: Ledger } & (
  | {
      readonly kind: "missing";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly isRepaired: boolean;
    }
  | {
      readonly kind: "changed";
      readonly billId: string;
      readonly cTime: EpochMs;
      readonly fields: readonly FieldChange[];
      readonly isRepaired: boolean;
    }
  | { readonly kind: "unserved"; readonly billId: string; readonly cTime: EpochMs }
  | {
      readonly kind: "rejected";
      readonly billId: string | undefined;
      readonly fault: RowFault;
      /** Whether the row's entry in `rejected_bills` is closed. */
      readonly isAccepted: boolean;
    }
);

/** The result of verifying one ledger. */
export type LedgerVerification = {
  readonly ledger: Ledger;
  /** The part of the span that could be read: neither older than the horizon nor in the future. */
  readonly span: readonly Interval[];
  /** How many bills were compared. */
  readonly compared: number;
  readonly differences: readonly Difference[];
  readonly requests: number;
  /** The reason why not all of it was read; undefined where all was. */
  readonly error: unknown;
};

export const isRepaired = (difference: Difference): boolean =>
  "isRepaired" in difference && difference.isRepaired;

/** How many bills were written. */
export const repairedIn = (ledgers: readonly LedgerVerification[]): number =>
  ledgers.flatMap(({ differences }) => differences).filter(isRepaired).length;

// A span whose end was taken from this machine's clock may end this far in the exchange's future without an error.
const aheadMaxMs = 30 * secondMs;

/** The verification of one ledger: a sync of the span whose store compares what a sync's would store. */
export class LedgerVerify extends LedgerRun {
  readonly compared: ComparedSpan;

  /** @param pageLengths shared by the account's ledgers. */
  constructor(deps: VerifyDeps, ledger: Ledger, span: Interval, pageLengths: PageLengths) {
    const compared = new ComparedSpan({ ...deps, span }, ledger);
    const leased = { store: compared, assertHeld: deps.assertHeld };
    super({ ...deps, leased, settleLagMs: 0 }, ledger, pageLengths);
    this.compared = compared;
  }

  get knownTime(): KnownTime {
    return this.compared.knownTime;
  }

  /** Never throws. @param read the time that was to be read. */
  async result(read: readonly Interval[]): Promise<LedgerVerification> {
    try {
      this.report(this.knownTime);
      await this.compared.findUnserved(horizonAt(this.exchangeNow()));
    } catch (error) {
      this.fail(error);
    }
    this.compared.findUnproven();
    const { differences, compared } = this.compared;
    const { requests, error } = this.soFar;
    return { ledger: this.ledger, span: read, compared, differences, requests, error };
  }
}

/**
 * Opens the verification of an account's ledgers, one by one. They share what is learned of the exchange's pages.
 * @param spanOf the time of a ledger that is read again.
 */
export function ledgerVerifiers(
  deps: VerifyDeps,
  account: string,
  spanOf: (productType: ProductType) => Interval,
): (productType: ProductType) => LedgerVerify {
  const pageLengths = new PageLengths();
  return (productType) =>
    new LedgerVerify(deps, { account, productType }, spanOf(productType), pageLengths);
}

/**
 * Reads a span of an account's ledgers again, and compares each page with what is stored. The ids of the span and the
 * differences are kept in memory.
 *
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
export async function verifyBills(
  deps: Pick<VerifyDeps, "onProgress" | "exchangeNow">,
  ledgers: readonly LedgerVerify[],
  span: Interval,
): Promise<readonly LedgerVerification[]> {
  if (!ledgers.some(({ hasAnswered }) => hasAnswered)) {
    await probeAccount(ledgers.filter(({ refusal }) => refusal === undefined));
  }
  await Promise.all(ledgers.map((ledger) => ledger.probeBeforeWalks(ledger.knownTime)));
  // A plan is recorded for the next run to go on, and the next verification begins anew.
  await readLedgers({ ...deps, recordPlans: async () => undefined }, ledgers);
  const now = deps.exchangeNow();
  const read = intersect([span], interval(horizonAt(now), now));
  const results = await Promise.all(ledgers.map((ledger) => ledger.result(read)));
  const unread = unreadPartError(span, read, now);
  return results.map((result) => ({ ...result, error: result.error ?? unread }));
}

/** The reason why not all of the span could be asked for, by the exchange's clock. */
function unreadPartError(span: Interval, read: readonly Interval[], now: EpochMs): unknown {
  if (read.length === 0) {
    const when = span.from > now ? "in the future" : "older than 90 days";
    return new ReportableError(
      `nothing of this time can be read: by the exchange's clock it is ${when}`,
    );
  }
  if (span.to <= now + aheadMaxMs) return undefined;
  return new ReportableError(
    `the exchange's clock says ${isoTime(now)}, so nothing later could be read; ` +
      "set this machine's clock, or give an earlier end",
  );
}

/** How the rows that a window was served differ from what is stored. */
type Differences = {
  readonly differing: DifferingBill[];
  readonly rejected: (RejectedRow & { readonly isAccepted: boolean })[];
};

// A transaction of a repair stores so many bills.
const repairedMax = 1_000;

type ComparedDeps = Pick<VerifyDeps, "store" | "repair"> & { readonly span: Interval };

/** A ledger's store that takes all time but the span for covered, and compares what it is given. */
export class ComparedSpan implements LedgerStore {
  readonly #deps: ComparedDeps;
  readonly #ledger: Ledger;
  readonly #coverage: Interval[];
  /** The time that was read to its end. */
  readonly #read: Interval[] = [];
  /** The ids, or the texts, of the rows that were served. A bill on the edge of two windows is served twice. */
  readonly #served = new Set<string>();
  /**
   * The differences of the windows that are not read to their end, by the windows' ends. Nothing of them is
   * stored: an answer that contradicts others may be another account's.
   */
  readonly #unproven = new Map<EpochMs, Differences>();
  readonly differences: Difference[] = [];
  compared = 0;

  constructor(deps: ComparedDeps, ledger: Ledger) {
    const { span } = deps;
    this.#deps = deps;
    this.#ledger = ledger;
    this.#coverage = [
      { from: epochMs(0), to: span.from },
      { from: span.to, to: epochMs(Number.MAX_SAFE_INTEGER) },
    ];
  }

  get knownTime(): KnownTime {
    return { coverage: this.#coverage, lost: [], open: [] };
  }

  async unstored(): Promise<ReadRows> {
    return { bills: [], rejected: [] };
  }

  async commitPage({ bills, rejected, window, next }: PageCommit): Promise<PageCounts> {
    const rows = this.#notComparedYet({ bills, rejected });
    await this.#compare(window.to, rows);
    this.compared += rows.bills.length;
    if ("end" in next) {
      await this.#endWindow(window.to);
      const { proven, lost } = next.end;
      this.#coverage.push(...proven);
      const readFrom = Math.max(window.from, ...lost.map(({ to }) => to));
      this.#read.push(...interval(readFrom, window.to));
    }
    return { new: 0, unchanged: 0, restated: 0, rejected: 0 };
  }

  /** The rows of the span, and the bills that were booked in it long after their times, that were not served before. */
  #notComparedYet({ bills, rejected }: ReadRows): ReadRows {
    const { span } = this.#deps;
    const { idOf, timeOf } = billsApiOf(this.#ledger.productType);
    const isOfSpan = (time: EpochMs) => time >= span.from && time < span.to;
    const isWanted = (time: EpochMs) =>
      isOfSpan(time) || isOutOfRange(time, { startTime: span.from, endTime: span.to });
    const isNew = (key: string) => !this.#served.has(key) && this.#served.add(key);
    const isOfSpanOrNone = ({ received }: RejectedRow) => {
      const time = timeOf(received);
      return time === undefined || isOfSpan(time);
    };
    const unserved = {
      bills: bills.filter(({ billId, cTime }) => isWanted(cTime) && isNew(billId)),
      rejected: rejected
        .filter(isOfSpanOrNone)
        .filter(({ received }) => isNew(JSON.stringify(received))),
    };
    // A stored bill is not unserved if its row is still served but can no longer be read.
    for (const { received } of rejected) this.#served.add(idOf(received) ?? "");
    return unserved;
  }

  async #compare(windowEnd: EpochMs, rows: ReadRows): Promise<void> {
    const { store, repair } = this.#deps;
    const { differing, areAccepted } = await store.compare(this.#ledger, rows, repair);
    const differences = this.#unproven.get(windowEnd) ?? { differing: [], rejected: [] };
    this.#unproven.set(windowEnd, differences);
    differences.differing.push(...differing);
    for (const [index, row] of rows.rejected.entries()) {
      differences.rejected.push({ ...row, isAccepted: areAccepted[index] ?? false });
    }
  }

  /** Repairs a window that was read to its end, if it is to be repaired. */
  async #endWindow(windowEnd: EpochMs): Promise<void> {
    const { store, repair } = this.#deps;
    const differences = this.#unproven.get(windowEnd);
    if (differences === undefined) return;
    const { rejected } = differences;
    const bills = differences.differing.map(({ bill }) => bill);
    if (repair && bills.length + rejected.length > 0) {
      for (let from = 0; from === 0 || from < bills.length; from += repairedMax) {
        const part = bills.slice(from, from + repairedMax);
        await store.repair(this.#ledger, { bills: part, rejected: from === 0 ? rejected : [] });
      }
    }
    this.#unproven.delete(windowEnd);
    this.#find(differences, repair);
  }

  /** Names the differences of the windows that were not read to their end, of which nothing was repaired. */
  findUnproven(): void {
    for (const differences of this.#unproven.values()) this.#find(differences, false);
    this.#unproven.clear();
  }

  #find({ differing, rejected }: Differences, isRepaired: boolean): void {
    const ledger = this.#ledger;
    const { idOf } = billsApiOf(ledger.productType);
    for (const { bill, changes: fields } of differing) {
      const { billId, cTime } = bill;
      const difference = { ledger, billId, cTime, isRepaired };
      this.differences.push(
        fields === undefined
          ? { ...difference, kind: "missing" }
          : { ...difference, kind: "changed", fields },
      );
    }
    for (const { received, fault, isAccepted } of rejected) {
      const billId = idOf(received);
      this.differences.push({ ledger, kind: "rejected", billId, fault, isAccepted });
    }
  }

  /** Finds the bills that are stored in the time that was read, and that were not served. */
  async findUnserved(horizon: EpochMs): Promise<void> {
    const ledger = this.#ledger;
    const read = intersect(this.#read, interval(horizon, this.#deps.span.to));
    for (const window of read) {
      const stored = await this.#deps.store.stored(ledger, window);
      for (const { billId, cTime } of stored) {
        if (!this.#served.has(billId)) {
          this.differences.push({ ledger, kind: "unserved", billId, cTime });
        }
      }
    }
  }
}
