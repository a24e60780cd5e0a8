import { type BillRows, billRows, timeOfText } from "./bill.ts";
import { categoryOf, type UnifiedProductType, unifiedCategories } from "./product-types.ts";
import type { Extra } from "./row.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";

/**
 * The fields of a financial record. Source: the API's v3 documentation, relaxed where real answers differ
 * from it: the position fields were added after March 2026, and `symbol` may be empty.
 */
const unifiedBillFields = {
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

/** The rows of a unified account's ledger. One that names another ledger's category has a fault. */
export const unifiedRows = (productType: UnifiedProductType): BillRows =>
  billRows(unifiedBillFields, { id: "id", time: "ts" }, (row) => {
    const { category, id, type, ts, extra, ...same } = row;
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
        cTime: timeOfText(ts),
        feeByCoupon: null,
        extra: category === null || category === asked ? extra : withCategory(category, extra),
      },
    };
  });

/** Keeps the category in `extra`. The product type tells the category, but not how the row spells it. */
const withCategory = (category: string, extra: Extra): Extra => ({ category, ...extra });
