import PQueue from "p-queue";
import { pageSizeMax } from "../contract/account-bills.ts";
import type { EpochMs } from "../contract/time.ts";

// Enough for all windows of an account's first sync: 13 for each of six product types. A walk's length is
// known only after its first page. With 16 walks at once, the longest could be the last to begin: at 800 ms
// a request, a backfill then took 82 s instead of 72.
const walksAtOnce = 128;

export type ScheduledWalk = {
  /** @param pagesLeft the estimated number of pages left. */
  afterPage(pagesLeft: number): void;
  /** Of the requests that wait for the rate limit, the one with the highest priority is sent first. */
  priority(): number;
};

/**
 * Runs an account's walks concurrently under one rate limit. Each page's request needs the cursor of the page before, so a
 * walk uses one slot at a time. The longest walk goes first, so that all end at about the same time.
 */
export class WindowScheduler {
  readonly #queue = new PQueue({ concurrency: walksAtOnce });
  /** The estimated pages left of each running walk that has read a page. */
  readonly #pagesLeft = new Map<ScheduledWalk, number>();

  /** Runs the walk when its turn comes. Walks begin in the order in which they were added. */
  add(walk: (scheduled: ScheduledWalk) => Promise<void>): void {
    const scheduled: ScheduledWalk = {
      afterPage: (pagesLeft) => void this.#pagesLeft.set(scheduled, pagesLeft),
      // First pages go before all others, since they show how long the walks are.
      priority: () => this.#pagesLeft.get(scheduled) ?? Number.POSITIVE_INFINITY,
    };
    void this.#queue.add(async () => {
      await walk(scheduled);
      this.#pagesLeft.delete(scheduled);
    });
  }

  /** Resolves when all walks have ended. */
  async done(): Promise<void> {
    await this.#queue.onIdle();
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
