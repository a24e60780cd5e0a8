import { isoTime } from "../contract/time.ts";
import { bookings, feeBooking, type KoinlyLabel } from "./bookings.ts";
import { csvLines, harmless } from "./csv.ts";
import { decimalOf, decimalText, isZero, magnitude } from "./decimal.ts";
import type { BillPages, Chunks, ExportedBill } from "./exported-bill.ts";

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
 * Koinly's universal CSV: a row for what of a bill's amount moved the wallet and one for its fee,
 * since a deposit has no fee at Koinly. A bill that moved nothing has no row.
 */
export async function* toKoinly(pages: BillPages): Chunks {
  yield csvLines([header]);
  for await (const bills of pages) yield csvLines(bills.flatMap(koinlyRows));
}

function koinlyRows(bill: ExportedBill): readonly (readonly string[])[] {
  const { account, productType, billId, category, walletAmount, walletFee } = bill;
  // An id alone may stand in two product types, and Koinly takes equal hashes for one transaction.
  const hash = `${account}/${productType}/${billId}`;
  return [
    ...movement(bill, walletAmount, bookings[category].koinly, hash),
    ...movement(bill, walletFee, feeBooking.koinly, `${hash}/fee`),
  ];
}

function movement(
  { account, productType, businessType, symbol, coin, cTime }: ExportedBill,
  moved: string,
  label: KoinlyLabel,
  hash: string,
): readonly (readonly string[])[] {
  const decimal = decimalOf(moved);
  if (isZero(decimal)) return [];
  const date = `${isoTime(cTime).slice(0, 19).replace("T", " ")} UTC`;
  const amount = decimalText(magnitude(decimal));
  const isReceived = decimal.units > 0n;
  const description = [businessType, symbol, `${account}/${productType}`].filter(Boolean).join(" ");
  const moves = [amount, harmless(coin)];
  const [sent, received] = isReceived ? [none, moves] : [moves, none];
  const fee = none;
  const netWorth = none;
  const tag = isReceived ? label.received : label.sent;
  return [
    [date, ...sent, ...received, ...fee, ...netWorth, tag, harmless(description), harmless(hash)],
  ];
}

/** No amount, and no currency of it. */
const none = ["", ""];
