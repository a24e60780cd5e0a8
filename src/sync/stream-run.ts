import type { Query } from "../contract/operation.ts";
import { dayMs, type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import { CommitsLostError, CursorError, ExchangeError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import { askBills, pageQuery } from "./ask-bills.ts";
import { createDensity } from "./density.ts";
import { evenCuts, type Interval, lengthMs, subtract } from "./intervals.ts";
import { completeThrough, dividedWalk, horizonAt, planStream } from "./plan.ts";
import type {
  HeldAccount,
  KnownTime,
  PageCommit,
  PageCounts,
  Stream,
  StreamPlan,
  Walk,
} from "./store.ts";
import { type FetchedPage, type PageProgress, type PageRequest, walkWindow } from "./walk.ts";
import type { PoolMember } from "./walk-pool.ts";

export type BillsDeps = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly held: HeldAccount;
  readonly settleLagMs: number;
  /** Ends the run between two pages. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BillsProgress) => void;
};

export type BillsProgress = { readonly stream: Stream } & (
  | { readonly event: "planned"; readonly windows: number; readonly plannedMs: number }
  | { readonly event: "request"; readonly failure: ExchangeError | undefined }
  | ({ readonly event: "page" } & PageProgress)
  | { readonly event: "divided"; readonly window: Interval; readonly kept: Interval }
  | { readonly event: "failed"; readonly error: unknown }
);

/** What came of one stream in one run. */
export type StreamReport = PageCounts & {
  readonly stream: Stream;
  readonly windows: { readonly planned: number; readonly walked: number };
  readonly pages: number;
  readonly requests: number;
  /** Up to when nothing is missing; undefined before the first complete window. */
  readonly completeThrough: EpochMs | undefined;
  /** Time that this run found lost behind the horizon. */
  readonly expired: readonly Interval[];
  /** Why the stream is not complete; undefined where it is. */
  readonly error: unknown;
};

// A window that begins so near to the horizon goes before all others, however short it is.
const expiresSoonMs = dayMs;

/** A walk's part in the pool of all walks. */
export type WalkShare = PoolMember & {
  /** Begins another walk of the same stream. */
  readonly begin: (walk: Walk) => void;
};

/** How much of a run an error ends. */
export function reachOf(error: unknown): "window" | "stream" | "account" {
  if (error instanceof CursorError) return "window";
  if (!(error instanceof ExchangeError)) return "account";
  switch (error.kind) {
    case "malformed":
    case "time-range":
      return "window";
    case "refused-permission":
    case "refused-request":
    case "unavailable":
    case "rate-limited":
    case "clock":
    case "unknown-code":
      return "stream";
    case "refused-credentials":
      return "account";
    default:
      return error.kind satisfies never;
  }
}

/** One stream's part of a run: its plan, its walks and what came of them. */
export class StreamRun {
  readonly stream: Stream;
  readonly #deps: BillsDeps;
  readonly #stopped = new AbortController();
  readonly #counts = { new: 0, unchanged: 0, restated: 0, rejected: 0, pages: 0, requests: 0 };
  #known: KnownTime = { coverage: [], expired: [], open: [] };
  #plan: StreamPlan | undefined;
  #plannedAt = epochMs(0);
  #walked = 0;
  /** What was committed as complete. */
  readonly #proven: Interval[] = [];
  #divided = 0;
  #error: unknown;

  constructor(deps: BillsDeps, stream: Stream) {
    this.#deps = deps;
    this.stream = stream;
  }

  /** Decides and records what is to be walked. */
  async plan(): Promise<readonly Walk[]> {
    const { held, exchangeNow, settleLagMs, onProgress } = this.#deps;
    this.#known = await held.store.knownTime(this.stream);
    this.#plannedAt = exchangeNow();
    this.#plan = planStream(this.stream, this.#known, { now: this.#plannedAt, settleLagMs });
    await held.store.recordPlan(this.#plan);
    const { walks } = this.#plan;
    const plannedMs = lengthMs(walks.map(({ window }) => window));
    onProgress({ stream: this.stream, event: "planned", windows: walks.length, plannedMs });
    return walks;
  }

  /**
   * Walks one window, or what is left to it after dividing it.
   * Never throws: what stopped it comes back, and into the report.
   */
  async walk(walk: Walk, everything: AbortSignal, pool: WalkShare): Promise<unknown> {
    const { exchangeNow, settleLagMs, signal: stop } = this.#deps;
    const signal = AbortSignal.any([stop, everything, this.#stopped.signal]);
    let sentAt = exchangeNow();
    const sending = (request: PageRequest): Query => {
      sentAt = exchangeNow();
      return pageQuery(this.stream.productType, request);
    };
    const expiresSoon = walk.window.from - horizonAt(exchangeNow()) < expiresSoonMs;
    const fetchPage = (request: () => PageRequest) => {
      const urgency = expiresSoon ? Number.POSITIVE_INFINITY : pool.urgency();
      return this.ask(() => sending(request()), signal, urgency);
    };
    const onPage = (progress: PageProgress) => this.#countPage(progress);
    const density = createDensity(walk.window.to);
    const divide = async (window: Interval, oldest: EpochMs, bills: number) => {
      density.page(oldest, bills);
      // A run that stops has no walks that could begin: the others end, and slots seem to idle.
      if (signal.aborted) return window;
      const pagesLeft = density.pagesIn(oldest - window.from);
      const parts = pool.afterPage({ pagesLeft, tookMs: exchangeNow() - sentAt });
      const cuts = evenCuts({ from: window.from, to: oldest }, parts);
      return cuts.length === 0 ? window : this.#divide(walk, window, cuts, pool);
    };
    try {
      await walkWindow(
        {
          fetchPage,
          commitPage: (page) => this.#commit(page),
          exchangeNow,
          plannedAt: this.#plannedAt,
          settleLagMs,
          onPage,
          divide,
          signal,
        },
        this.stream,
        walk,
      );
      this.#walked += 1;
      return undefined;
    } catch (error) {
      this.fail(error);
      return error;
    }
  }

  /** Leaves all but the newest part to other walks. @returns the newest. */
  async #divide(
    walk: Walk,
    window: Interval,
    cuts: readonly EpochMs[],
    pool: WalkShare,
  ): Promise<Interval> {
    const { kept, older } = dividedWalk(walk, window, cuts);
    await this.#deps.held.store.divideWindow(this.stream, window, cuts);
    this.#divided += older.length;
    this.#deps.onProgress({ stream: this.stream, event: "divided", window, kept });
    for (const part of older) pool.begin(part);
    return kept;
  }

  /** Sends one request of this stream. */
  ask(query: Query | (() => Query), signal: AbortSignal, priority = 0): Promise<FetchedPage> {
    const { client, held, onProgress } = this.#deps;
    const onAttempt = (failure: ExchangeError | undefined) => {
      this.#counts.requests += 1;
      onProgress({ stream: this.stream, event: "request", failure });
    };
    const deps = { client, assertHeld: held.assertHeld, onAttempt, priority };
    return askBills(deps, this.stream.productType, query, signal);
  }

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  fail(error: unknown): void {
    if (this.#error === undefined) {
      this.#error = error;
      this.#deps.onProgress({ stream: this.stream, event: "failed", error });
    }
    if (reachOf(error) !== "window") this.#stopped.abort(error);
  }

  async report(): Promise<StreamReport> {
    const known = await this.#deps.held.store.knownTime(this.stream);
    this.#refuseLoss(known);
    return {
      stream: this.stream,
      ...this.#counts,
      windows: { planned: (this.#plan?.walks.length ?? 0) + this.#divided, walked: this.#walked },
      completeThrough: completeThrough(known, this.#deps.exchangeNow()),
      expired: subtract(known.expired, this.#known.expired),
      error: this.#error,
    };
  }

  async #commit(page: PageCommit): Promise<PageCounts> {
    const counts = await this.#deps.held.store.commitPage(page);
    if ("end" in page.next) this.#proven.push(...page.next.end.proven);
    return counts;
  }

  /** The last pages of a walk are followed by none that would miss them. */
  #refuseLoss({ coverage }: KnownTime): void {
    const [lost] = subtract(this.#proven, coverage);
    if (lost === undefined) return;
    const { account, productType } = this.stream;
    this.fail(
      new CommitsLostError(
        `${account}/${productType} ${isoTime(lost.from)} to ${isoTime(lost.to)}`,
      ),
    );
  }

  #countPage(progress: PageProgress): void {
    for (const name of ["new", "unchanged", "restated", "rejected"] as const) {
      this.#counts[name] += progress.counts[name];
    }
    this.#counts.pages += 1;
    this.#deps.onProgress({ stream: this.stream, event: "page", ...progress });
  }
}
