import { z } from "zod";
import type { BillReading } from "./bill.ts";
import { categoryOf, type UnifiedProductType, unifiedCategories } from "./product-types.ts";
import { type Extra, readRow } from "./row.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";
import { type EpochMs, epochMs } from "./time.ts";

/**
 * The fields of a financial record. Source: the API's v3 documentation, relaxed where real answers differ
 * from it: the position fields were added after March 2026, and `symbol` may be empty.
 */
export const unifiedBillFields = {
  /** Upper or lower case: the documentation's sample says `Margin`. */
  category: optionalText,
  id: text,
  symbol: optionalText,
  coin: text,
  type: text,
  positionType: optionalText,
  amount: decimal,
  fee: decimal,
  positionAmount: optionalDecimal,
  positionBalance: optionalDecimal,
  balance: optionalDecimal,
  ts: epochMsText,
};

const row = z.object(unifiedBillFields);

/**
 * Reads one row of a page of a unified account's ledger. Never throws: it returns the fault of a row that
 * is not a bill, or that names another ledger's category.
 */
export function readUnifiedBill(productType: UnifiedProductType, given: unknown): BillReading {
  const reading = readRow(unifiedBillFields, row, given);
  if ("fault" in reading) return reading;
  const { category, id, type, ts, extra, ...same } = reading.values;
  const asked = categoryOf(productType);
  const said = category?.toUpperCase() ?? asked;
  // The other ledger serves this row, too: stored here, it would be stored twice.
  if (said !== asked && unifiedCategories.includes(said)) {
    return { fault: { path: "category", reason: `is ${said}, where ${asked} was asked for` } };
  }
  return {
    bill: {
      ...same,
      billId: id,
      businessType: type,
      cTime: epochMs(Number(ts)),
      feeByCoupon: null,
      extra: category === null || category === asked ? extra : withCategory(category, extra),
    },
  };
}

/** Keeps the category in `extra`. The product type tells the category, but not how the row spells it. */
const withCategory = (category: string, extra: Extra): Extra => ({ category, ...extra });

const rowWithId = z.looseObject({ id: unifiedBillFields.id });

/** The id of a row, even where other fields are broken; undefined where it has no valid id. */
export const unifiedBillIdOf = (given: unknown): string | undefined =>
  rowWithId.safeParse(given).data?.id;

const rowWithTime = z.looseObject({ ts: unifiedBillFields.ts });

/** The time of a row, even where other fields are broken; undefined where it has no valid time. */
export function unifiedBillTimeOf(given: unknown): EpochMs | undefined {
  const { data } = rowWithTime.safeParse(given);
  return data && epochMs(Number(data.ts));
}
