import PQueue from "p-queue";
import { pageSizeMax } from "../contract/account-bills.ts";
import type { EpochMs } from "../contract/time.ts";
import type { RateLimit } from "../exchange/rate-limiter.ts";

// Enough for all windows of an account's first sync: 13 for each of six product types. A walk's length is
// known only after its first page. With 16 walks at once, the longest could be the last to begin: at 800 ms
// a request, a backfill then took 82 s instead of 72.
const walksAtOnce = 128;
// A division costs one or two extra requests: each part ends with an empty page, and its pages are less full.
// Parts of fewer pages than this do not make up for that.
const pagesPerPartMin = 3;
// A walk with fewer requests left than this counts as nearly ended. If it were replaced only when it ends,
// slots would idle until the new parts have begun.
const requestsAhead = 5;
// Divisions are bounded because the pages left are an estimate: many bills in one millisecond look like a
// week full of them, and a slow answer looks like idle slots. Without a bound, a run against a faulty
// exchange divided a week into 500 parts. `partsFree` divisions are always allowed, and one more for each
// `pagesPerFurtherPart` pages read.
const partsFree = 20;
const pagesPerFurtherPart = 20;
// The time that a page takes is a moving average over about this many pages.
const cyclesAveraged = 8;

/** What a walk reports after each page. */
export type WalkState = {
  /** The estimated number of pages left. */
  readonly pagesLeft: number;
  /** The time from sending the page's request to its commit, ms. */
  readonly tookMs: number;
};

export type ScheduledWalk = {
  /** @returns into how many parts the walk should divide the rest of its window; 1 for no division. */
  afterPage(state: WalkState): number;
  /** Of the requests that wait for the rate limit, the one with the highest priority is sent first. */
  priority(): number;
};

/**
 * Runs an account's walks concurrently under one rate limit, so that no slot of the limiter idles.
 *
 * Each page's request needs the cursor of the page before, so a walk uses one slot at a time. The
 * longest walk goes first, so that all end at about the same time. All slots are in use if there are as many
 * walks as the limit's rate times a page's time (Little's law). If there are fewer, the longest walk is told
 * to divide the rest of its window, into as many parts as make up for the missing walks.
 */
export class WindowScheduler {
  readonly #queue = new PQueue({ concurrency: walksAtOnce });
  /** The estimated pages left of each running walk that has read a page. */
  readonly #pagesLeft = new Map<ScheduledWalk, number>();
  readonly #limit: RateLimit;
  #cycleMs: number | undefined;
  #pages = 0;
  #parts = 0;

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  /** Runs the walk when its turn comes. Walks begin in the order in which they were added. */
  add(walk: (scheduled: ScheduledWalk) => Promise<void>): void {
    const scheduled: ScheduledWalk = {
      afterPage: (state) => this.#partsFor(scheduled, state),
      // First pages go before all others, since they show how long the walks are.
      priority: () => this.#pagesLeft.get(scheduled) ?? Number.POSITIVE_INFINITY,
    };
    void this.#queue.add(async () => {
      await walk(scheduled);
      this.#pagesLeft.delete(scheduled);
    });
  }

  /** Resolves when all walks have ended, including those that were added meanwhile. */
  async done(): Promise<void> {
    await this.#queue.onIdle();
  }

  #partsFor(scheduled: ScheduledWalk, { pagesLeft, tookMs }: WalkState): number {
    this.#pagesLeft.set(scheduled, pagesLeft);
    this.#pages += 1;
    this.#cycleMs ??= tookMs;
    this.#cycleMs += (tookMs - this.#cycleMs) / cyclesAveraged;
    const known = [...this.#pagesLeft.values()];
    if (this.#queue.size > 0 || pagesLeft < Math.max(...known)) return 1;
    const begun = this.#queue.pending - known.length;
    const lasting = known.reduce(
      (sum, pages) => sum + Math.min(1, (pages + 1) / requestsAhead),
      begun,
    );
    const { requests, perMs } = this.#limit;
    const missing = Math.ceil((requests * this.#cycleMs) / perMs - lasting);
    const allowed = partsFree + Math.floor(this.#pages / pagesPerFurtherPart) - this.#parts;
    const worthwhile = Math.floor(pagesLeft / pagesPerPartMin);
    const parts = Math.max(1, Math.min(1 + missing, worthwhile, requests, 1 + allowed));
    this.#parts += parts - 1;
    return parts;
  }
}

/** Estimates from a walk's last pages how many pages it has left to read. */
export type PageEstimate = {
  /**
   * Records a page.
   * @param oldest the time of the oldest bill that the walk has read so far.
   * @param bills how many bills the page had.
   */
  page(oldest: EpochMs, bills: number): void;
  /** The estimated number of pages in so many ms before the oldest bill that was read. */
  pagesIn(ms: number): number;
};

// Bills come in bursts: one page may lie within one millisecond, but five pages hardly ever do.
const pagesLooked = 5;

/** @param newest the time at which the walk begins. It goes back in time from there. */
export function createPageEstimate(newest: EpochMs): PageEstimate {
  let marks = [{ oldest: newest, bills: 0 }];
  return {
    page(oldest, bills) {
      marks = [...marks.slice(-pagesLooked), { oldest, bills }];
    },
    pagesIn(ms) {
      const [first, ...pages] = marks;
      const last = pages.at(-1);
      if (first === undefined || last === undefined) return 0;
      const bills = pages.reduce((sum, page) => sum + page.bills, 0);
      const spanMs = Math.max(1, first.oldest - last.oldest);
      return ((bills / spanMs) * ms) / pageSizeMax;
    },
  };
}
