import { compareIds } from "../contract/compare-ids.ts";
import { isUnified } from "../contract/product-types.ts";
import { unifiedBookedMaxMs } from "../contract/time.ts";
import { decimalOf } from "./decimal.ts";
import type { BillPages, ExportedBill } from "./exported-bill.ts";

/** An exchange of one coin for another: the bill of each coin. */
export type Trade = { readonly sent: ExportedBill; readonly received: ExportedBill };

/**
 * The same bills in pages that keep the bills of one account's trades together. Bills are sorted by when they
 * were booked, so bills of other times may stand between a trade's two.
 */
export async function* wholeTrades(pages: BillPages): BillPages {
  let kept: readonly ExportedBill[] = [];
  for await (const page of pages) {
    const bills = [...kept, ...page];
    const start = startOfOpen(bills);
    kept = bills.slice(start);
    yield bills.slice(0, start);
  }
  yield kept;
}

/** The place from which on bills are kept back, so that no trade has one of its bills before and one after it. */
function startOfOpen(bills: readonly ExportedBill[]): number {
  const last = bills.at(-1);
  const sides = [...bills.entries()].filter(
    ([, bill]) => bill.account === last?.account && isSide(bill),
  );
  // No bill that is still to come is earlier than this.
  let since = (last?.cTime ?? 0) - unifiedBookedMaxMs;
  for (let start = bills.length; ; ) {
    const [first = start] = sides.find(([, { cTime }]) => cTime >= since) ?? [];
    if (first >= start) return start;
    start = first;
    // A late bill that is kept back now takes the other one of its trade along.
    for (const [place, { cTime }] of sides) if (place >= start) since = Math.min(since, cTime);
  }
}

/**
 * Pairs the bills of a unified account's spot trades and conversions. Both sides have the same
 * millisecond, category and symbol, and consecutive ids. Where a side is missing, no bills of that
 * millisecond are paired.
 *
 * @param bills with both sides of each trade: see {@link wholeTrades}.
 */
export function tradesOf(bills: readonly ExportedBill[]): readonly Trade[] {
  const groups = Map.groupBy(
    bills.filter(isSide),
    ({ account, productType, cTime, symbol, category }) =>
      JSON.stringify([account, productType, cTime, symbol, category]),
  );
  return [...groups.values()].flatMap((group) => {
    const ordered = group.toSorted((a, b) => compareIds(a.billId, b.billId));
    const sent = ordered.filter((bill) => signOf(bill) < 0);
    const received = ordered.filter((bill) => signOf(bill) > 0);
    const trades = sent.flatMap((bill, place) => {
      const other = received[place];
      return other === undefined || other.coin === bill.coin
        ? []
        : [{ sent: bill, received: other }];
    });
    return trades.length === sent.length && sent.length === received.length ? trades : [];
  });
}

const isSide = ({ productType, category }: ExportedBill): boolean =>
  isUnified(productType) && (category === "spot" || category === "conversion");

const signOf = ({ walletAmount }: ExportedBill): number => {
  const { units } = decimalOf(walletAmount);
  return units < 0n ? -1 : units > 0n ? 1 : 0;
};
