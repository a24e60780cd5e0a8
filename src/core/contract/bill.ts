import { type EpochMs, epochMs } from "../../lib/time.ts";
import type { RowFault } from "./json.ts";
import { type Fields, type Row, readerOf } from "./row.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";

/**
 * The fields of a bill. Source: the API's bill record, relaxed where real answers differ from it:
 * `symbol` is empty on transfers, `feeByCoupon` is often empty, and `balance` was missing in 2023
 * and 2024. Amount and fee are both signed.
 */
export const billFields = {
  billId: text,
  symbol: optionalText,
  amount: decimal,
  fee: decimal,
  feeByCoupon: optionalDecimal,
  businessType: text,
  coin: text,
  balance: optionalDecimal,
  cTime: epochMsText,
};

/** One entry of the ledger. Decimals and ids are text. An empty string is read as null. */
export type Bill = Omit<Row<typeof billFields>, "cTime"> & {
  readonly cTime: EpochMs;
  /** "crossed" or "isolated"; null where the account is not unified. */
  readonly positionType: string | null;
  /** The change of an isolated position's margin, and the margin after it; null where the account is not unified. */
  readonly positionAmount: string | null;
  readonly positionBalance: string | null;
  /** "tax-records" where the bill was recovered from tax records. */
  readonly source?: "tax-records" | null;
};

/** A stored bill, with each column as the text that Postgres prints; `extra` is JSON. */
export type BillText = Omit<Bill, "cTime" | "extra" | "source"> & {
  readonly source: "tax-records" | null;
  readonly cTimeMs: string;
  readonly extra: string | null;
};

/** The position fields of a classic account's bills. */
export const noPosition = { positionType: null, positionAmount: null, positionBalance: null };

/** The ids that several bills of one answer have, with other content. Which of these is right, nobody can say. */
export function contradictoryIds(bills: readonly Bill[]): ReadonlySet<string> {
  const met = new Map<string, Bill>();
  const ids = new Set<string>();
  for (const bill of bills) {
    const other = met.get(bill.billId);
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(bill)) ids.add(bill.billId);
    met.set(bill.billId, bill);
  }
  return ids;
}

/** Compares decimal ids by value. They are strings of any length, since they exceed 2^53. */
export function compareIds(left: string, right: string): number {
  const [a, b] = [withoutZeros(left), withoutZeros(right)];
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}

const withoutZeros = (id: string): string => (id.startsWith("0") ? id.replace(/^0+(?=.)/, "") : id);

/** What a row was read as. */
export type BillReading = { readonly bill: Bill } | { readonly fault: RowFault };

/** How the rows of one kind of ledger are read. */
export type BillRows = {
  /** Reads a row. Never throws: for a row that is not a bill it returns the fault. */
  read(row: unknown): BillReading;
  /** The id and the time of a row, even where other fields are broken; undefined where it has none. */
  idOf(row: unknown): string | undefined;
  timeOf(row: unknown): EpochMs | undefined;
};

/** A time that is sent in milliseconds. */
export const timeOfText = (text: string): EpochMs => epochMs(Number(text));

/**
 * @param names the fields that have a row's id and time.
 * @param billOf makes the bill of a row's fields.
 * @param timeOf the time of its text. Default milliseconds.
 */
export function billRows<Of extends Fields>(
  fields: Of,
  names: { readonly id: keyof Of & string; readonly time: keyof Of & string },
  billOf: (row: Row<Of>) => BillReading,
  timeOf = timeOfText,
): BillRows {
  const readFields = readerOf(fields);
  const member = (row: unknown, name: string): unknown =>
    typeof row === "object" && row !== null ? row[name as keyof typeof row] : undefined;
  return {
    read(row) {
      const reading = readFields(row);
      return "fault" in reading ? reading : billOf(reading.values);
    },
    idOf: (row) => text.safeParse(member(row, names.id)).data,
    timeOf(row) {
      const { data } = epochMsText.safeParse(member(row, names.time));
      return data === undefined ? undefined : timeOf(data);
    },
  };
}

/** The rows of a classic account's futures. */
export const classicRows = billRows(billFields, { id: "billId", time: "cTime" }, (row) => ({
  bill: { ...row, ...noPosition, cTime: timeOfText(row.cTime) },
}));
