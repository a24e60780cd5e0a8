import { isoTime } from "../contract/time.ts";
import type { BillPages, Chunks, ExportedBill } from "./bill.ts";
import { bookings, feeBooking, type KoinlyLabel } from "./bookings.ts";
import { csvLines } from "./csv.ts";
import { decimalOf, decimalText, magnitude } from "./decimal.ts";

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
 * Koinly's universal CSV: a row for what a bill's amount moved and one for its fee, since a deposit
 * has no fee at Koinly. A bill that moved nothing has no row.
 */
export async function* toKoinly(pages: BillPages): Chunks {
  yield csvLines([header]);
  for await (const bills of pages) yield csvLines(bills.flatMap(koinlyRows));
}

function koinlyRows(bill: ExportedBill): readonly (readonly string[])[] {
  const { category, amount, fee, billId } = bill;
  if (category === "margin") return [];
  return [
    ...movement(bill, amount, bookings[category].koinly, billId),
    ...movement(bill, fee, feeBooking.koinly, `${billId}-fee`),
  ];
}

function movement(
  { account, productType, businessType, symbol, coin, cTime }: ExportedBill,
  moved: string,
  label: KoinlyLabel,
  reference: string,
): readonly (readonly string[])[] {
  const decimal = decimalOf(moved);
  if (decimal.units === 0n) return [];
  const [date = "", time = ""] = isoTime(cTime).slice(0, 19).split("T");
  const amount = decimalText(magnitude(decimal));
  const isReceived = decimal.units > 0n;
  return [
    [
      `${date} ${time} UTC`,
      ...(isReceived ? ["", "", amount, coin] : [amount, coin, "", ""]),
      "",
      "",
      "",
      "",
      isReceived ? label.received : label.sent,
      [businessType, symbol, `${account}/${productType}`].filter(Boolean).join(" "),
      reference,
    ],
  ];
}
