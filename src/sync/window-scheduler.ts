import PQueue from "p-queue";
import type { RateLimit } from "../exchange/rate-limiter.ts";

// Enough for all windows of an account's first sync, 13 of each of six product types: a walk's
// length shows after its first page. With 16 at once, the longest could be the last to begin, and
// at 800 ms a request a backfill of 72 s took 82.
const walksAtOnce = 128;
// A division costs a request or two, for the answer that says that a part is empty and for pages
// that are less full. Parts of fewer pages than these do not win that back.
const pagesPerPartMin = 3;
// A walk that has fewer requests left than these counts as nearly ended: if it were replaced only
// at its end, slots would idle until the new parts have begun.
const requestsAhead = 5;
// The pages left are an estimate: a cluster of bills in one millisecond looks like a week full of
// them, and a slow answer looks like idle slots. Without a bound, a run against a faulty exchange
// divided a week into 500 parts. So many divisions are always allowed, and one more for each so
// many pages read.
const partsFree = 20;
const pagesPerFurtherPart = 20;
// The time that a page takes is a moving average over about so many pages.
const cyclesAveraged = 8;

/** What a walk reports after each page. */
export type WalkState = {
  /** An estimate of the pages that are left. */
  readonly pagesLeft: number;
  /** From the sending of the page's request to its commit. */
  readonly tookMs: number;
};

export type ScheduledWalk = {
  /** @returns into how many parts the walk should divide what is left of its window; 1: not at all. */
  afterPage(state: WalkState): number;
  /** Of the requests that wait for the rate limit, the one of the highest priority is sent first. */
  priority(): number;
};

/**
 * Runs an account's walks under one rate limit side by side, so that no slot of the limiter idles.
 *
 * Each page's request needs the cursor of the page before, so a walk uses one slot at a time. The
 * longest walk goes first, so that all end at about the same time. Where too few walks are left to
 * use all slots (the limit's rate times a page's time, by Little's law), the longest is told to divide
 * what is left of its window, into as many parts as walks are missing.
 */
export class WindowScheduler {
  readonly #queue = new PQueue({ concurrency: walksAtOnce });
  /** Of the running walks that have read a page. */
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
      // The first page shows how long the walk is: that is worth knowing before anything else.
      priority: () => this.#pagesLeft.get(scheduled) ?? Number.POSITIVE_INFINITY,
    };
    void this.#queue.add(async () => {
      await walk(scheduled);
      this.#pagesLeft.delete(scheduled);
    });
  }

  /** Resolves when all walks have ended, with those that were added meanwhile. */
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
