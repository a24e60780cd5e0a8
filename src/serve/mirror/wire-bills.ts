import type { BillText } from "../../contract/bill.ts";
import { parseExactJson } from "../../contract/json.ts";
import { categoryOf, type UnifiedProductType } from "../../contract/product-types.ts";

/** A row of an answer. */
export type WireRow = Readonly<Record<string, unknown>>;

/** A bill as the exchange served it. What was empty, null or missing there is empty here. */
export const wireBill = (bill: BillText): WireRow => ({
  billId: bill.billId,
  symbol: bill.symbol ?? "",
  amount: bill.amount,
  fee: bill.fee,
  feeByCoupon: bill.feeByCoupon ?? "",
  businessType: bill.businessType,
  coin: bill.coin,
  balance: bill.balance ?? "",
  cTime: bill.cTimeMs,
  ...extraOf(bill),
});

/** The same of a unified account. Its position's fields came in 2026: older rows have none. */
export const wireRecord = (productType: UnifiedProductType, bill: BillText): WireRow => ({
  category: categoryOf(productType),
  id: bill.billId,
  symbol: bill.symbol ?? "",
  coin: bill.coin,
  type: bill.businessType,
  ...(bill.positionType !== null && { positionType: bill.positionType }),
  amount: bill.amount,
  fee: bill.fee,
  ...(bill.positionAmount !== null && { positionAmount: bill.positionAmount }),
  ...(bill.positionBalance !== null && { positionBalance: bill.positionBalance }),
  balance: bill.balance ?? "",
  ts: bill.cTimeMs,
  ...extraOf(bill),
});

/** Fields that the contract does not list, and numbers in the exchange's spelling under their own names. */
const extraOf = ({ extra }: BillText): WireRow =>
  extra === null ? {} : (parseExactJson(extra) as WireRow);
