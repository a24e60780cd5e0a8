import { type Bill, billIdOf, cTimeOf } from "../contract/bill.ts";
import { type EpochMs, isoTime, minuteMs } from "../contract/time.ts";
import { printableLine } from "../printable.ts";
import type { PageCommit } from "./store.ts";

// How the exchange rounds its bounds is not known; another request's page is days away.
const boundsToleranceMs = minuteMs;

/**
 * What shows that a page answers another request: a bill far from the time that was asked for, or a
 * row that broke the contract and has a time. Its cursor would lead away from what is left of the
 * window, to an empty page: a false end.
 */
export function strayBill(
  { bills, rejected }: Pick<PageCommit, "bills" | "rejected">,
  { startTime, endTime }: { readonly startTime: EpochMs; readonly endTime: EpochMs },
): string | undefined {
  const isStray = (cTime: EpochMs) =>
    cTime < startTime - boundsToleranceMs || cTime > endTime + boundsToleranceMs;
  const stray = bills.find(({ cTime }) => isStray(cTime)) ?? strayRow(rejected, isStray);
  if (stray === undefined) return undefined;
  return (
    `bill ${printableLine(stray.billId)} of ${isoTime(stray.cTime)} came in answer to a request for ` +
    `${isoTime(startTime)} to ${isoTime(endTime)}`
  );
}

function strayRow(
  rejected: PageCommit["rejected"],
  isStray: (cTime: EpochMs) => boolean,
): Pick<Bill, "billId" | "cTime"> | undefined {
  for (const { received } of rejected) {
    const cTime = cTimeOf(received);
    if (cTime === undefined || !isStray(cTime)) continue;
    return { billId: billIdOf(received) ?? "without an id", cTime };
  }
  return undefined;
}

/**
 * Where a walk goes on behind a page, or what is wrong with the cursor that the page names: it would
 * go round in circles, or could skip bills.
 */
export function cursorBehind(
  endId: string,
  { bills, rejected }: Pick<PageCommit, "bills" | "rejected">,
  cursor: string | undefined,
  cursors: ReadonlySet<string | undefined>,
): { readonly cursor: string } | { readonly fault: string } {
  if (endId === cursor) return { fault: "stands still" };
  if (cursors.has(endId)) return { fault: "came back" };
  const ids = [
    ...bills.map(({ billId }) => billId),
    ...rejected.map(({ received }) => billIdOf(received)),
  ];
  // The API calls it the id of the page's final bill. Behind any other lie bills never seen.
  if (ids.includes(endId)) return { cursor: endId };
  if (!ids.includes(undefined)) return { fault: "is no bill of its page" };
  // A row without an id may be that bill: some of the page is read again, and nothing skipped.
  const oldest = bills.reduce<Bill | undefined>(
    (least, bill) => (least === undefined || bill.cTime < least.cTime ? bill : least),
    undefined,
  );
  return { cursor: oldest?.billId ?? endId };
}
