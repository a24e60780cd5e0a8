import { pageSizeMax } from "../contract/account-bills.ts";
import type { EpochMs } from "../contract/time.ts";

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
