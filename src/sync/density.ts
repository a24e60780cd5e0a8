import { pageSizeMax } from "../contract/account-bills.ts";
import type { EpochMs } from "../contract/time.ts";

/** Tells from the last pages of a walk how many are likely to come. */
export type Density = {
  /** A page of so many bills came, and all that was read so far is not older than this. */
  page(oldest: EpochMs, bills: number): void;
  /** In so much time below the oldest. */
  pagesIn(ms: number): number;
};

// Bills come in bursts: one page may lie in one millisecond, five of them hardly do.
const pagesLooked = 5;

/** @param newest where the walk begins. */
export function createDensity(newest: EpochMs): Density {
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
