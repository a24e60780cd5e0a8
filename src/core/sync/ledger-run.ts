import type { Clock } from "../../lib/clock.ts";
import { ContradictionError, commitsLost, type ExchangeError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import { dayMs, type EpochMs, epochMs, isoTime, secondMs } from "../../lib/time.ts";
import { billsApiOf } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { Client } from "../exchange/client.ts";
import type { LeasedAccount, Store } from "../store/ledger-store.ts";
import { type Interval, lengthMs, subtract } from "../words/intervals.ts";
import type { KnownTime, Ledger, LedgerPlan, Walk } from "../words/ledger.ts";
import type { PageCommit, PageCounts } from "../words/page.ts";
import { horizonAt, isNeverRead, planLedger, readTime } from "../words/plan.ts";
import { LedgerReader } from "./ledger-reader.ts";
import { isPlaced, type PageHabits } from "./walk/answers.ts";
import { placesOf } from "./walk/pages.ts";
import { type PageProgress, walkWindow } from "./walk/walk.ts";
import type { PartsOf } from "./walks.ts";

/** What reading a ledger needs of the store. */
export type LedgerStore = Pick<Store, "knownTime" | "unstored" | "recordPlan" | "commitPage">;

export type BillsDeps = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly held: { readonly store: LedgerStore; readonly assertHeld: () => void };
  readonly settleLagMs: number;
  readonly sleep: Clock["sleep"];
  /** Stops the run between two pages. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BillsProgress) => void;
};

/** What needs all that is stored of an account. */
export type HeldDeps = Pick<BillsDeps, "exchangeNow"> & { readonly held: LeasedAccount };

/** What asks the exchange for something else of a held account than its bills. */
export type AskingDeps = HeldDeps &
  Pick<BillsDeps, "client" | "signal"> & {
    /** Called with every failed request. */
    readonly onFailure: (failure: ExchangeError) => void;
  };

export type BillsProgress = { readonly ledger: Ledger } & (
  | { readonly event: "planned"; readonly windows: number; readonly plannedMs: number }
  | { readonly event: "request"; readonly failure: ExchangeError | undefined }
  | ({ readonly event: "page" } & PageProgress)
  | { readonly event: "doubted"; readonly what: string }
  | {
      readonly event: "failed";
      readonly error: unknown;
      /** The account's other product types with the same failure, which are reported together. Default none. */
      readonly also?: readonly ProductType[];
    }
);

/** The result of syncing one ledger. */
export type LedgerReport = PageCounts & {
  readonly ledger: Ledger;
  /** With those that were handed back. */
  readonly windowsPlanned: number;
  /** How many of them were read to their end. */
  readonly windowsRead: number;
  readonly pages: number;
  readonly requests: number;
  /** The first time that is neither read, lost nor recovered; undefined before the first complete window. */
  readonly readThrough: EpochMs | undefined;
  /** The time that this run found lost: it was too old before it was read. */
  readonly lost: readonly Interval[];
  /** The first error that kept the ledger from completion; undefined where there was none. */
  readonly error: unknown;
};

// A window that begins this close to the horizon goes before all others, however short it is.
const expiresSoonMs = dayMs;

// All windows of a run wait at the same time, so the sync of a quiet account takes this much longer in all.
const emptyPauseMs = 2 * secondMs;

/** What a walk is told of the walks beside it. */
type BesideWalk = {
  readonly partsOf: PartsOf;
  /** Begins the walk of a window that was handed back. */
  readonly begin: (part: Walk) => void;
};

/** One ledger's part of a run: its plan, its walks and their result. */
export class LedgerRun extends LedgerReader {
  readonly #deps: BillsDeps;
  readonly #counts = { new: 0, unchanged: 0, restated: 0, rejected: 0, pages: 0 };
  #known: KnownTime = { coverage: [], lost: [], open: [] };
  #plan: LedgerPlan | undefined;
  #plannedAt = epochMs(0);
  #walked = 0;
  #handedBack = 0;
  /** The time that was committed as complete. */
  readonly #proven: Interval[] = [];
  /** The rows that a probe was served and that are not stored yet as they are: the times of their ids. */
  readonly #unstored = new Map<string, EpochMs>();

  /** @param pageHabits shared by the account's ledgers. */
  constructor(deps: BillsDeps, ledger: Ledger, pageHabits?: PageHabits) {
    const { client, held, signal, onProgress } = deps;
    const reading = {
      client,
      assertHeld: held.assertHeld,
      signal,
      onAttempt: (failure: ExchangeError | undefined) =>
        onProgress({ ledger, event: "request", failure }),
      onFirstFailure: (error: unknown) => onProgress({ ledger, event: "failed", error }),
      pageHabits,
    };
    super(reading, ledger);
    this.#deps = deps;
  }

  /**
   * Looks up what is stored. If several windows are to be walked, the exchange is first asked whether it serves
   * the ledger: otherwise each window would be refused by itself.
   */
  async prepare(): Promise<void> {
    this.#known = await this.#deps.held.store.knownTime(this.ledger);
    this.#plannedAt = this.#deps.exchangeNow();
    const isProbed = this.hasAnswered || this.refusal !== undefined;
    if (!isProbed && this.#planned().walks.length >= 2) await this.probe();
    const { bills, rejected } = this.probed;
    if (bills.length + rejected.length === 0) return;
    const unstored = await this.#deps.held.store.unstored(this.ledger, this.probed);
    const places = placesOf(billsApiOf(this.ledger.productType), unstored).filter(isPlaced);
    for (const { billId, cTime } of places) this.#unstored.set(billId, cTime);
  }

  /** Whether the ledger was never read. */
  get isNeverRead(): boolean {
    return isNeverRead(this.#known);
  }

  /** Probes again after a refusal: one may be a fault, and the ledger would count as not available for a day. */
  async askAgain(): Promise<void> {
    await this.#deps.sleep(emptyPauseMs, this.#deps.signal);
    await this.probe();
  }

  /** Drops the windows that an earlier run planned, since the key may not read the ledger. */
  async dropPlan(): Promise<void> {
    if (this.#known.open.length === 0) return;
    const plan = { ledger: this.ledger, plannedAt: this.#plannedAt, walks: [], lost: [] };
    await this.#deps.held.store.recordPlan(plan);
  }

  #planned(): LedgerPlan {
    const { settleLagMs } = this.#deps;
    const unstored = [...this.#unstored.values()];
    return planLedger(this.ledger, this.#known, { now: this.#plannedAt, settleLagMs, unstored });
  }

  /** Plans the walks and records the plan. Requires `prepare`. */
  async plan(): Promise<readonly Walk[]> {
    const { held, exchangeNow, onProgress } = this.#deps;
    this.#plannedAt = exchangeNow();
    this.#plan = this.#planned();
    await held.store.recordPlan(this.#plan);
    const { walks } = this.#plan;
    const plannedMs = lengthMs(walks.map(({ window }) => window));
    onProgress({ ledger: this.ledger, event: "planned", windows: walks.length, plannedMs });
    return walks;
  }

  /** Walks one window. Never throws: the error that stopped it is returned, and is in the report. */
  walk(walk: Walk, accountStopped: AbortSignal, beside: BesideWalk): Promise<unknown> {
    return this.read(accountStopped, async (signal) => {
      await this.#walk(walk, signal, beside);
      this.#walked += 1;
    });
  }

  #walk(walk: Walk, signal: AbortSignal, { partsOf, begin }: BesideWalk): Promise<void> {
    const { exchangeNow, settleLagMs, sleep, onProgress } = this.#deps;
    const { ledger } = this;
    const expiresSoon = walk.window.from - horizonAt(exchangeNow()) < expiresSoonMs;
    // The longest goes first, so that all end at about the same time; first pages go before all others, since they show
    // how long the walks are.
    let pagesLeft = Number.POSITIVE_INFINITY;
    let sentAt = exchangeNow();
    return walkWindow(
      {
        fetchPage: (request) => {
          const question = () => {
            sentAt = exchangeNow();
            return request();
          };
          return this.ask(question, signal, expiresSoon ? Number.POSITIVE_INFINITY : pagesLeft);
        },
        commitPage: (page) => this.#commit(page),
        exchangeNow,
        plannedAt: this.#plannedAt,
        settleLagMs,
        idOrder: this.idOrder,
        pageHabits: this.pageHabits,
        pause: () => sleep(emptyPauseMs, signal),
        partsOf: (pages) => partsOf(pages, exchangeNow() - sentAt),
        onPage: (progress) => {
          this.#countPage(progress);
          pagesLeft = progress.pagesLeft;
          for (const part of progress.handedBack) begin(part);
        },
        onDoubt: (what) => onProgress({ ledger, event: "doubted", what }),
        signal,
      },
      ledger,
      walk,
    );
  }

  /** What was done so far, without what only the database knows. */
  get done(): LedgerReport {
    return {
      ledger: this.ledger,
      ...this.#counts,
      requests: this.requests,
      windowsPlanned: (this.#plan?.walks.length ?? 0) + this.#handedBack,
      windowsRead: this.#walked,
      readThrough: undefined,
      lost: [],
      error: this.error,
    };
  }

  async report(): Promise<LedgerReport> {
    const known = await this.#deps.held.store.knownTime(this.ledger);
    this.#refuseLoss(known);
    return {
      ...this.done,
      readThrough: readTime(known, this.#deps.exchangeNow()).through,
      lost: subtract(known.lost, this.#known.lost),
    };
  }

  async #commit(page: PageCommit): Promise<PageCounts> {
    const { store } = this.#deps.held;
    const unmet = this.#unmetBill(page);
    if (unmet !== undefined) {
      // Without a cursor: the next run would resume below the bill.
      await store.commitPage({ ...page, next: { cursor: undefined } });
      const { from, to } = page.window;
      throw new ContradictionError(
        `the exchange served bill ${printableLine(unmet)} first, and left it out of its time, ` +
          `${isoTime(from)} to ${isoTime(to)}, which stays unread; run again`,
      );
    }
    const counts = await store.commitPage(page);
    if ("end" in page.next) this.#proven.push(...page.next.end.proven);
    return counts;
  }

  /** A bill that a probe was served, and that the walk of its time did not meet, if the page ends that walk. */
  #unmetBill({ bills, rejected, next }: PageCommit): string | undefined {
    const { idOf } = billsApiOf(this.ledger.productType);
    for (const { billId } of bills) this.#unstored.delete(billId);
    for (const { received } of rejected) this.#unstored.delete(idOf(received) ?? "");
    if (!("end" in next)) return undefined;
    const isProven = (time: EpochMs) =>
      next.end.proven.some(({ from, to }) => time >= from && time < to);
    return [...this.#unstored].find(([, time]) => isProven(time))?.[0];
  }

  /**
   * Fails the ledger if time that was committed as complete is missing from the coverage. The commit of each page
   * notices if the page before is missing, but a walk's last page has none after it.
   */
  #refuseLoss({ coverage }: KnownTime): void {
    const [lost] = subtract(this.#proven, coverage);
    if (lost === undefined) return;
    const { account, productType } = this.ledger;
    this.fail(
      commitsLost(`${account}/${productType} ${isoTime(lost.from)} to ${isoTime(lost.to)}`),
    );
  }

  #countPage(progress: PageProgress): void {
    for (const name of ["new", "unchanged", "restated", "rejected"] as const) {
      this.#counts[name] += progress.counts[name];
    }
    this.#counts.pages += 1;
    this.#handedBack += progress.handedBack.length;
    this.#deps.onProgress({ ledger: this.ledger, event: "page", ...progress });
  }
}
