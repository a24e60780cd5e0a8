import type { Clock } from "../../lib/clock.ts";
import { commitsLost, type ExchangeError } from "../../lib/errors.ts";
import { type EpochMs, epochMs, isoTime, secondMs } from "../../lib/time.ts";
import { billsApiOf } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { Client } from "../exchange/client.ts";
import type { LeasedAccount, Store } from "../store/ledger-store.ts";
import { type Interval, lengthMs, subtract } from "../words/intervals.ts";
import type { KnownTime, Ledger, LedgerPlan } from "../words/ledger.ts";
import type { PageCommit, PageCounts } from "../words/page.ts";
import { isNeverRead, planLedger, readTime } from "../words/plan.ts";
import { failureScope } from "./failure-scope.ts";
import { LedgerReader, positionsOf } from "./ledger-reader.ts";
import { isLocated, type PageLengths } from "./walk/answers.ts";

/** What reading a ledger needs of the store. */
export type LedgerStore = Pick<Store, "unstored" | "commitPage">;

/** What a ledger is read with. */
export type LedgerDeps = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly leased: { readonly store: LedgerStore; readonly assertHeld: () => void };
  readonly settleLagMs: number;
  readonly sleep: Clock["sleep"];
  /** Stops the run between two pages. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BillsProgress) => void;
};

/** What an account is synced with. */
export type AccountDeps = Omit<LedgerDeps, "leased"> & {
  readonly leased: LeasedAccount;
  /** Called with every failed request, but for those of bills. */
  readonly onFailure: (failure: ExchangeError) => void;
};

export type BillsProgress = { readonly ledger: Ledger } & (
  | { readonly event: "planned"; readonly windows: number; readonly plannedMs: number }
  | { readonly event: "request"; readonly failure: ExchangeError | undefined }
  | {
      readonly event: "page";
      readonly window: Interval;
      readonly counts: PageCounts;
      /** How much of the window's time was walked, in ms. */
      readonly walkedMs: number;
    }
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

// All windows of a run wait at the same time, so the sync of a quiet account takes this much longer in all.
const emptyPauseMs = 2 * secondMs;

/** One ledger's part of a run: its plan, its walks and their result. */
export class LedgerRun extends LedgerReader {
  /** The times of bills, by id, that a probe was served and that are not stored yet as they are. The walks share it. */
  readonly expectedBills = new Map<string, EpochMs>();
  readonly #deps: LedgerDeps;
  readonly #counts = { new: 0, unchanged: 0, restated: 0, rejected: 0 };
  readonly #windows = { windowsPlanned: 0, windowsRead: 0, pages: 0 };
  #known: KnownTime = { coverage: [], lost: [], open: [] };
  #plannedAt = epochMs(0);
  /** The time that was committed as complete. */
  readonly #proven: Interval[] = [];
  readonly #stopped = new AbortController();
  #error: unknown;

  /** @param pageLengths shared by the account's ledgers. */
  constructor(deps: LedgerDeps, ledger: Ledger, pageLengths?: PageLengths) {
    const { client, leased, signal, onProgress } = deps;
    const onAttempt = (failure: ExchangeError | undefined) =>
      onProgress({ ledger, event: "request", failure });
    super({ client, assertHeld: leased.assertHeld, signal, onAttempt, pageLengths }, ledger);
    this.#deps = deps;
  }

  /** The exchange's time of the plan. */
  get plannedAt(): EpochMs {
    return this.#plannedAt;
  }

  get settleLagMs(): number {
    return this.#deps.settleLagMs;
  }

  exchangeNow(): EpochMs {
    return this.#deps.exchangeNow();
  }

  /** Waits before another question about a window of which nothing was served yet. */
  pause(signal: AbortSignal): Promise<void> {
    return this.#deps.sleep(emptyPauseMs, signal);
  }

  /** Tells what is contradictory about an answer. */
  tell(what: string): void {
    this.#deps.onProgress({ ledger: this.ledger, event: "doubted", what });
  }

  /**
   * If several windows are to be walked, the exchange is first asked whether it serves the ledger: otherwise each window
   * would be refused by itself.
   * @param known what is stored of its time.
   */
  async probeBeforeWalks(known: KnownTime): Promise<void> {
    this.#known = known;
    this.#plannedAt = this.#deps.exchangeNow();
    const isProbed = this.hasAnswered || this.refusal !== undefined;
    if (!isProbed && this.#planned().windows.length >= 2) await this.probe();
    const { bills, rejected } = this.probed;
    if (bills.length + rejected.length === 0) return;
    const unstored = await this.#deps.leased.store.unstored(this.ledger, this.probed);
    const positions = positionsOf(billsApiOf(this.ledger.productType), unstored).filter(isLocated);
    for (const { billId, cTime } of positions) this.expectedBills.set(billId, cTime);
  }

  /** Whether the ledger was never read. */
  get isNeverRead(): boolean {
    return isNeverRead(this.#known);
  }

  /** Probes again after a refusal: one may be a fault, and the ledger would count as not available for a day. */
  async probeAgain(): Promise<void> {
    await this.pause(this.#deps.signal);
    await this.probe();
  }

  /** The plan that drops the windows of an earlier run, since the key may not read the ledger; none where there are none. */
  emptyPlan(): readonly LedgerPlan[] {
    if (this.#known.open.length === 0) return [];
    return [{ ledger: this.ledger, plannedAt: this.#plannedAt, windows: [], lost: [] }];
  }

  #planned(): LedgerPlan {
    const { settleLagMs } = this.#deps;
    const unstored = [...this.expectedBills.values()];
    return planLedger(this.ledger, this.#known, { now: this.#plannedAt, settleLagMs, unstored });
  }

  /** Plans the walks. The caller records the plan. Requires `probeBeforeWalks`. */
  plan(): LedgerPlan {
    const { exchangeNow, onProgress } = this.#deps;
    this.#plannedAt = exchangeNow();
    const plan = this.#planned();
    const { windows } = plan;
    this.#windows.windowsPlanned = windows.length;
    const plannedMs = lengthMs(windows.map(({ window }) => window));
    onProgress({ ledger: this.ledger, event: "planned", windows: windows.length, plannedMs });
    return plan;
  }

  /** Aborts where the run is stopped, the ledger has failed, or the other signal aborts. */
  signalWith(other: AbortSignal): AbortSignal {
    return AbortSignal.any([this.#deps.signal, this.#stopped.signal, other]);
  }

  /** @param walkedMs how much of the page's window was walked. */
  async commit(page: PageCommit, walkedMs: number): Promise<void> {
    const { store } = this.#deps.leased;
    const counts = await store.commitPage(page);
    for (const name of ["new", "unchanged", "restated", "rejected"] as const)
      this.#counts[name] += counts[name];
    this.#windows.pages += 1;
    if ("end" in page.next) {
      this.#windows.windowsRead += 1;
      this.#proven.push(...page.next.end.proven);
    } else this.#windows.windowsPlanned += page.next.handedBack?.length ?? 0;
    const { window } = page;
    this.#deps.onProgress({ ledger: this.ledger, event: "page", window, counts, walkedMs });
  }

  /** Records a failure, and ends the ledger's other walks if it concerns them, too. */
  fail(error: unknown): void {
    if (this.#error === undefined) {
      this.#error = error;
      this.#deps.onProgress({ ledger: this.ledger, event: "failed", error });
    }
    if (failureScope(error) !== "window") this.#stopped.abort(error);
  }

  /** Records the probe's refusal, if any, as the ledger's failure. The caller tells it. */
  failAsRefused(): void {
    this.#error ??= this.refusal;
  }

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  /** What was done so far, without what only the database knows. */
  get soFar(): LedgerReport {
    return {
      ledger: this.ledger,
      ...this.#counts,
      requests: this.requests,
      ...this.#windows,
      readThrough: undefined,
      lost: [],
      error: this.#error,
    };
  }

  /** @param known what is stored of its time after the walks. */
  report(known: KnownTime): LedgerReport {
    this.#refuseLoss(known);
    return {
      ...this.soFar,
      readThrough: readTime(known, this.#deps.exchangeNow()).through,
      lost: subtract(known.lost, this.#known.lost),
    };
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
}
