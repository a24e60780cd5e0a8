import type { ExportedBill } from "./bill.ts";
import { add, type Decimal, decimalOf, zero } from "./decimal.ts";

/**
 * What a bill does to the balance of its coin: amount plus fee, both signed. Margin moves shift
 * money inside the account, and what a coupon paid never was in the balance.
 */
export const walletChange = ({
  category,
  amount,
  fee,
}: Pick<ExportedBill, "category" | "amount" | "fee">): Decimal =>
  category === "margin" ? zero : add(decimalOf(amount), decimalOf(fee));
