import { type Bill, billIdOf } from "../contract/bill.ts";
import { type EpochMs, isoTime, minuteMs } from "../contract/time.ts";
import { printableLine } from "../printable.ts";
import type { PageCommit } from "./store.ts";

// How the exchange rounds its bounds is not known; another request's page is days away.
const boundsToleranceMs = minuteMs;

/**
 * What shows that a page answers another request: a bill far from the time that was asked for.
 * Its cursor would lead away from what is left of the window, to an empty page: a false end.
 */
export function strayBill(
  bills: readonly Bill[],
  { startTime, endTime }: { readonly startTime: EpochMs; readonly endTime: EpochMs },
): string | undefined {
  const stray = bills.find(
    ({ cTime }) => cTime < startTime - boundsToleranceMs || cTime > endTime + boundsToleranceMs,
  );
  if (stray === undefined) return undefined;
  return (
    `bill ${printableLine(stray.billId)} of ${isoTime(stray.cTime)} came in answer to a request for ` +
    `${isoTime(startTime)} to ${isoTime(endTime)}`
  );
}

/** What is wrong with a cursor that would go round in circles, or could skip bills. */
export function cursorFault(
  endId: string,
  { bills, rejected }: Pick<PageCommit, "bills" | "rejected">,
  cursor: string | undefined,
  cursors: ReadonlySet<string | undefined>,
): string | undefined {
  if (endId === cursor) return "stands still";
  if (cursors.has(endId)) return "came back";
  // The API calls it the id of the page's final bill. Behind any other lie bills never seen;
  // a row without an id may be that bill.
  const isOfPage =
    bills.some(({ billId }) => billId === endId) ||
    rejected
      .map(({ received }) => billIdOf(received))
      .some((id) => id === endId || id === undefined);
  return isOfPage ? undefined : "is no bill of its page";
}
