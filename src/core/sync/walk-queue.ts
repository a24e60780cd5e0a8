import PQueue from "p-queue";
import { secondMs } from "../../lib/time.ts";

// Enough for all windows of an account's first sync: 13 for each of six product types. A walk's length is
// known only after its first page. With 16 walks at once, the longest could be the last to begin: at 800 ms
// a request, a backfill then took 82 s instead of 72.
const walksAtOnce = 128;
// A part costs half a request more: its last page has bills of the next part, too. Parts of 12 pages leave the last walks
// alone at the end: a later sync of 30,000 bills took 37 s instead of 34. With parts of four, a first sync of bills in all
// windows took 8 requests more, and no less time.
const pagesPerPartMin = 6;
// The pages left are an estimate. So there are no more parts than the limit has requests, and one for so many pages.
const pagesPerFurtherPart = 10;
// How long an answer takes is a moving average over about so many.
const answersAveraged = 8;

/**
 * Decides into how many parts a walk divides the rest of its window.
 * @param pagesLeft how many pages it seems to have.
 * @param tookMs the time from sending the last question to its answer.
 */
export type PartsWanted = (pagesLeft: number, tookMs: number) => number;

/**
 * Runs the walks that share a rate limit. A walk asks for one page at a time, so it takes several to use the limit: its rate
 * times an answer's time. If the longest alone would take longer than the limit needs for all that is left, it hands back
 * the rest of its window as smaller windows, which are walked beside it.
 */
export class WalkQueue {
  /** A second. */
  readonly #requests: number;
  readonly #queue = new PQueue({ concurrency: walksAtOnce });
  /** Of each walk that has begun: infinitely many, until it has read a page. */
  readonly #pagesLeft = new Map<PartsWanted, number>();
  #pages = 0;
  #parts = 0;
  #answerMs: number | undefined;

  /** @param requests the limit, a second. */
  constructor(requests: number) {
    this.#requests = requests;
  }

  /** Runs the walk when its turn comes. Walks begin in the order in which they were added. */
  add(walk: (partsWanted: PartsWanted) => Promise<void>): void {
    const partsWanted: PartsWanted = (pagesLeft, tookMs) => {
      this.#pages += 1;
      this.#answerMs ??= tookMs;
      this.#answerMs += (tookMs - this.#answerMs) / answersAveraged;
      this.#pagesLeft.set(partsWanted, pagesLeft);
      const parts = this.#partsFor(pagesLeft);
      this.#parts += parts - 1;
      return parts;
    };
    void this.#queue.add(async () => {
      this.#pagesLeft.set(partsWanted, Number.POSITIVE_INFINITY);
      await walk(partsWanted);
      this.#pagesLeft.delete(partsWanted);
    });
  }

  /** Resolves when all walks have ended, also those that were added meanwhile. */
  ended(): Promise<void> {
    return this.#queue.onIdle();
  }

  #partsFor(pagesLeft: number): number {
    const all = [...this.#pagesLeft.values()];
    if (this.#queue.size > 0 || pagesLeft < Math.max(...all)) return 1;
    const requests = this.#requests;
    const atOnce = (requests * (this.#answerMs ?? 0)) / secondMs;
    const share = pagesLeft / all.reduce((sum, pages) => sum + pages, 0);
    const wanted = Math.min(requests, Math.ceil(atOnce * share || 0));
    const allowed = requests + Math.floor(this.#pages / pagesPerFurtherPart) - this.#parts;
    const worthwhile = Math.floor(pagesLeft / pagesPerPartMin);
    return Math.max(1, Math.min(wanted, 1 + allowed, worthwhile));
  }
}
