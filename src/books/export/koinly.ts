import { compareIds } from "../../core/contract/bill.ts";
import { isSpotOrFunding, mayContainFee } from "../../core/contract/product-types.ts";
import { decimalOf, decimalText, magnitude } from "../../lib/decimal.ts";
import { isoTime } from "../../lib/time.ts";
import { bookings, feeBooking, type KoinlyLabel } from "./bookings.ts";
import { csvLines, harmless } from "./csv.ts";
import type { BillPages, Chunks, ExportedBill, FormatOptions } from "./exported-bill.ts";

/** An exchange of one coin for another: the bill of each coin. */
type Trade = { readonly sent: ExportedBill; readonly received: ExportedBill };

/** The same bills in pages that keep those of one millisecond of an account together, and so both bills of a trade. */
export async function* wholeTrades(pages: BillPages): BillPages {
  let heldBills: readonly ExportedBill[] = [];
  for await (const page of pages) {
    const bills = [...heldBills, ...page];
    const last = bills.at(-1);
    const isOther = ({ account, cTime }: ExportedBill) =>
      account !== last?.account || cTime !== last.cTime;
    const start = bills.findLastIndex(isOther) + 1;
    heldBills = bills.slice(start);
    yield bills.slice(0, start);
  }
  yield heldBills;
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
  mayContainFee(productType) && (category === "spot" || category === "conversion");

const signOf = ({ walletAmount }: ExportedBill): number => {
  const { units } = decimalOf(walletAmount);
  return units < 0n ? -1 : units > 0n ? 1 : 0;
};

// The header of Koinly's universal template, as its help and several open exporters have it.
const header = [
  "Date",
  "Sent Amount",
  "Sent Currency",
  "Received Amount",
  "Received Currency",
  "Fee Amount",
  "Fee Currency",
  "Net Worth Amount",
  "Net Worth Currency",
  "Label",
  "Description",
  "TxHash",
];

/**
 * Koinly's universal CSV. A bill has a row for the part of its amount that moved the wallet and another
 * one for its fee, since Koinly allows no fee in a deposit. Both sides of a unified account's trade are
 * one row: in two rows they would be a withdrawal and a deposit. A bill that moved nothing has no row.
 * Koinly tells by a row's hash whether it has it already, so the hash rests on the account's first name.
 */
export async function* toKoinly(pages: BillPages, { firstNames }: FormatOptions = {}): Chunks {
  yield csvLines([header]);
  const hashOf = hashesOf(firstNames);
  for await (const bills of wholeTrades(pages)) {
    const trades = tradesOf(bills);
    const bySent = new Map(trades.map((trade) => [trade.sent, trade]));
    const received = new Set(trades.map((trade) => trade.received));
    const rows = bills.flatMap((bill) => {
      const trade = bySent.get(bill);
      const hash = hashOf(bill);
      const principal = received.has(bill) ? [] : amountRows(bill, hash, trade?.received);
      return [...principal, ...feeRows(bill, hash)];
    });
    yield csvLines(rows);
  }
}

type Row = readonly string[];

// Two product types may have the same id, and Koinly takes equal hashes for one transaction.
const hashesOf =
  (firstNames: ReadonlyMap<string, string> = new Map()) =>
  ({ account, productType, billId }: ExportedBill): string =>
    `${firstNames.get(account) ?? account}/${productType}/${billId}`;

function amountRows(
  bill: ExportedBill,
  hash: string,
  other: ExportedBill | undefined,
): readonly Row[] {
  const { category, walletAmount } = bill;
  if (other === undefined) {
    return movement(bill, walletAmount, bookings[category].koinly, hash);
  }
  return [rowOf(bill, moved(bill, walletAmount), moved(other, other.walletAmount), "", hash)];
}

const feeRows = (bill: ExportedBill, hash: string): readonly Row[] => {
  // A coin that is bought or withdrawn has no margin.
  const isOfCoins = bill.category === "spot" || isSpotOrFunding(bill.productType);
  const { koinly } = isOfCoins ? bookings["fee-bills"] : feeBooking;
  return movement(bill, bill.walletFee, koinly, `${hash}/fee`);
};

function movement(
  bill: ExportedBill,
  amount: string,
  label: KoinlyLabel,
  hash: string,
): readonly Row[] {
  const { units } = decimalOf(amount);
  if (units === 0n) return [];
  const moves = moved(bill, amount);
  return units > 0n
    ? [rowOf(bill, none, moves, label.received, hash)]
    : [rowOf(bill, moves, none, label.sent, hash)];
}

/** The two cells of an amount and its currency. */
const moved = ({ coin }: ExportedBill, amount: string): Row => [
  decimalText(magnitude(decimalOf(amount))),
  harmless(coin),
];
const none: Row = ["", ""];

function rowOf(
  { account, productType, businessType, symbol, cTime }: ExportedBill,
  sent: Row,
  received: Row,
  tag: string,
  hash: string,
): Row {
  const date = `${isoTime(cTime).slice(0, 19).replace("T", " ")} UTC`;
  const description = [businessType, symbol, `${account}/${productType}`].filter(Boolean).join(" ");
  const fee = none;
  const netWorth = none;
  return [
    ...[date, ...sent, ...received, ...fee, ...netWorth],
    ...[tag, harmless(description), harmless(hash)],
  ];
}
