import { isUnified } from "../contract/product-types.ts";
import { decimalOf } from "./decimal.ts";
import type { BillPages, ExportedBill } from "./exported-bill.ts";

/** An exchange of one coin for another: the bill of each coin. */
export type Trade = { readonly sent: ExportedBill; readonly received: ExportedBill };

/** The same bills in pages that keep those of one wallet and millisecond together. */
export async function* wholeMoments(pages: BillPages): BillPages {
  let kept: readonly ExportedBill[] = [];
  for await (const page of pages) {
    const bills = [...kept, ...page];
    const last = bills.at(-1);
    const start = bills.findLastIndex(
      (bill) => bill.account !== last?.account || bill.cTime !== last.cTime,
    );
    kept = bills.slice(start + 1);
    yield bills.slice(0, start + 1);
  }
  yield kept;
}

/**
 * Pairs the bills of a unified account's spot trades and conversions. Both sides have the same
 * millisecond, category and symbol, and consecutive ids. Where a side is missing, no bills of that
 * millisecond are paired.
 *
 * @param bills whole milliseconds.
 */
export function tradesOf(bills: readonly ExportedBill[]): readonly Trade[] {
  const sides = bills.filter(
    ({ productType, category }) =>
      isUnified(productType) && (category === "spot" || category === "conversion"),
  );
  const groups = Map.groupBy(sides, ({ account, productType, cTime, symbol, category }) =>
    JSON.stringify([account, productType, cTime, symbol, category]),
  );
  return [...groups.values()].flatMap((group) => {
    const ordered = group.toSorted(byId);
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

const signOf = ({ walletAmount }: ExportedBill): number => {
  const { units } = decimalOf(walletAmount);
  return units < 0n ? -1 : units > 0n ? 1 : 0;
};

/** Compares ids as numbers: the longer one is the greater. */
const byId = ({ billId: a }: ExportedBill, { billId: b }: ExportedBill): number =>
  a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
