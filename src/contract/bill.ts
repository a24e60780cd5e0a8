import { z } from "zod";
import { type Fault, unstorable } from "./json.ts";
import {
  decimal,
  epochMsText,
  optionalDecimal,
  optionalText,
  printsAsWritten,
  text,
} from "./scalars.ts";
import { type EpochMs, epochMs } from "./time.ts";

/**
 * The fields of a bill. Source: the API's bill record, loosened by what answers were seen to
 * hold: `symbol` is empty on transfers, `feeByCoupon` is often empty, `balance` was missing
 * altogether in 2023 and 2024. Amount and fee are both signed.
 */
const billFields = {
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
const decimalFields = ["amount", "fee", "feeByCoupon", "balance"] as const;

/** One entry of the ledger. Decimals and ids are text; "" has become null. */
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
  /**
   * What the columns cannot give back: fields that the contract does not list, and, under
   * its own name, a decimal that Postgres would print differently from how it was sent.
   */
  readonly extra: Readonly<Record<string, unknown>> | null;
};

export type BillReading = { readonly bill: Bill } | { readonly fault: Fault };

/** Reads one row of a page. Never throws: a row that is not a bill comes back as its fault. */
export function readBill(row: unknown): BillReading {
  const fault = unstorable(row);
  if (fault !== undefined) return { fault };
  const parsed = billRow.safeParse(row);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return {
      fault: { path: issue?.path.join(".") ?? "", reason: issue?.message ?? "is not a bill" },
    };
  }
  // From the row itself: zod drops a field that is named __proto__.
  const extra: Record<string, unknown> = Object.fromEntries(
    Object.entries(row as object).filter(([name]) => !Object.hasOwn(billFields, name)),
  );
  for (const field of decimalFields) {
    const decimalText = parsed.data[field];
    if (decimalText !== null && !printsAsWritten(decimalText)) extra[field] = decimalText;
  }
  return {
    bill: {
      ...parsed.data,
      cTime: epochMs(Number(parsed.data.cTime)),
      extra: Object.keys(extra).length === 0 ? null : extra,
    },
  };
}

const rowWithId = z.looseObject({ billId: billFields.billId });

/** The id of a row of a page, whatever else is wrong with it; undefined where it has none. */
export const billIdOf = (row: unknown): string | undefined => rowWithId.safeParse(row).data?.billId;
