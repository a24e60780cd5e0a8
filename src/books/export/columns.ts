import type { EpochMs } from "../../lib/time.ts";
import type { ExportedBill } from "./exported-bill.ts";

/** A column of the files that have one: text, a decimal as text, or a time. */
export type Column = { readonly name: string } & (
  | { readonly kind: "text" | "money"; readonly read: (bill: ExportedBill) => string | null }
  | { readonly kind: "time"; readonly read: (bill: ExportedBill) => EpochMs }
);

const columnOf =
  (kind: "text" | "money") =>
  (name: string, read: (bill: ExportedBill) => string | null): Column => ({ name, kind, read });
const text = columnOf("text");
const money = columnOf("money");
const time = (name: string, read: (bill: ExportedBill) => EpochMs): Column => ({
  name,
  kind: "time",
  read,
});

/** The columns of `bills`, and the category. */
export const columns: readonly Column[] = [
  text("account", ({ account }) => account),
  text("product_type", ({ productType }) => productType),
  text("bill_id", ({ billId }) => billId),
  text("symbol", ({ symbol }) => symbol),
  money("amount", ({ amount }) => amount),
  money("fee", ({ fee }) => fee),
  money("fee_by_coupon", ({ feeByCoupon }) => feeByCoupon),
  text("business_type", ({ businessType }) => businessType),
  text("coin", ({ coin }) => coin),
  money("balance", ({ balance }) => balance),
  time("c_time", ({ cTime }) => cTime),
  text("extra", ({ extra }) => extra),
  text("position_type", ({ positionType }) => positionType),
  money("position_amount", ({ positionAmount }) => positionAmount),
  money("position_balance", ({ positionBalance }) => positionBalance),
  text("source", ({ source = null }) => source),
  time("ingested_at", ({ ingestedAt }) => ingestedAt),
  text("category", ({ category }) => category),
];
