import type { Bill } from "../../contract/bill.ts";
import type { BillsApi } from "../../contract/bills-api.ts";
import { type EpochMs, isoTime, minuteMs } from "../../contract/time.ts";
import { printableLine } from "../../printable.ts";
import type { PageCommit } from "../store.ts";

// How the exchange rounds bounds is not known, so times up to a minute outside them are accepted. A page that
// answers another request is days off.
const boundsToleranceMs = minuteMs;

/**
 * Finds a row whose time is far outside the requested span, which shows that the page answers another
 * request. The cursor of such a page would lead to an empty page, and so to a false end of the window.
 * @returns what is wrong, in words; undefined if nothing is.
 */
export function strayBill(
  api: Pick<BillsApi, "idOf" | "timeOf">,
  { bills, rejected }: Pick<PageCommit, "bills" | "rejected">,
  { startTime, endTime }: { readonly startTime: EpochMs; readonly endTime: EpochMs },
): string | undefined {
  const isStray = (cTime: EpochMs) =>
    cTime < startTime - boundsToleranceMs || cTime > endTime + boundsToleranceMs;
  const stray = bills.find(({ cTime }) => isStray(cTime)) ?? strayRow(api, rejected, isStray);
  if (stray === undefined) return undefined;
  return (
    `bill ${printableLine(stray.billId)} of ${isoTime(stray.cTime)} came in answer to a request for ` +
    `${isoTime(startTime)} to ${isoTime(endTime)}`
  );
}

function strayRow(
  { idOf, timeOf }: Pick<BillsApi, "idOf" | "timeOf">,
  rejected: PageCommit["rejected"],
  isStray: (cTime: EpochMs) => boolean,
): Pick<Bill, "billId" | "cTime"> | undefined {
  for (const { received } of rejected) {
    const cTime = timeOf(received);
    if (cTime === undefined || !isStray(cTime)) continue;
    return { billId: idOf(received) ?? "without an id", cTime };
  }
  return undefined;
}
