import { z } from "zod";
import type { RowFault } from "./json.ts";
import { type Extra, readRow } from "./row.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";
import { type EpochMs, epochMs } from "./time.ts";

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

const billRow = z.object(billFields);

/** One entry of the ledger. Decimals and ids are text. An empty string is read as null. */
export type Bill = {
  readonly billId: string;
  readonly symbol: string | null;
  readonly amount: string;
  readonly fee: string;
  readonly feeByCoupon: string | null;
  readonly businessType: string;
  readonly coin: string;
  readonly balance: string | null;
  readonly cTime: EpochMs;
  /** "crossed" or "isolated"; null where the account is not unified. */
  readonly positionType: string | null;
  /** The change of an isolated position's margin, and the margin after it; null where the account is not unified. */
  readonly positionAmount: string | null;
  readonly positionBalance: string | null;
  readonly extra: Extra;
  /** "tax" where the bill was recovered from tax records. */
  readonly source?: "tax" | null;
};

/** A stored bill, with each column as the text that Postgres prints; `extra` is JSON. */
export type BillText = Omit<Bill, "cTime" | "extra" | "source"> & {
  readonly source: "tax" | null;
  readonly cTimeMs: string;
  readonly extra: string | null;
};

/** The position fields of a classic account's bills. */
export const noPosition = { positionType: null, positionAmount: null, positionBalance: null };

export type BillReading = { readonly bill: Bill } | { readonly fault: RowFault };

/** Reads one row of a page. Never throws: for a row that is not a bill it returns the fault. */
export function readBill(row: unknown): BillReading {
  const reading = readRow(billFields, billRow, row);
  if ("fault" in reading) return reading;
  const { values } = reading;
  return { bill: { ...values, ...noPosition, cTime: epochMs(Number(values.cTime)) } };
}

const rowWithId = z.looseObject({ billId: billFields.billId });

/** The id of a row, even where other fields are broken; undefined where it has no valid id. */
export const billIdOf = (row: unknown): string | undefined => rowWithId.safeParse(row).data?.billId;

const rowWithTime = z.looseObject({ cTime: billFields.cTime });

/** The time of a row, even where other fields are broken; undefined where it has no valid time. */
export function cTimeOf(row: unknown): EpochMs | undefined {
  const { data } = rowWithTime.safeParse(row);
  return data && epochMs(Number(data.cTime));
}
