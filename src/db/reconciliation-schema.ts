import { bigint, boolean, integer, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { key, time } from "./columns.ts";

const stream = () => ({
  account: key("account").notNull(),
  productType: key("product_type").notNull(),
});

/**
 * What a category's bills do to the wallet, as the ledger itself shows it: which of a bill's
 * numbers the balance moves by. The documentation does not say.
 */
export const walletRules = pgTable(
  "wallet_rules",
  {
    ...stream(),
    category: key("category").notNull(),
    countsAmount: boolean("counts_amount").notNull(),
    countsFee: boolean("counts_fee").notNull(),
    countsCoupon: boolean("counts_coupon").notNull(),
    /** Bills whose balance and whose predecessor's were served. */
    tested: bigint("tested", { mode: "number" }).notNull(),
    /** Those among them that fit, but for one unit in the last place. */
    fitting: bigint("fitting", { mode: "number" }).notNull(),
    learnedAt: time("learned_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.category] })],
);

/**
 * The places of bills within their millisecond, where the order of their ids is not the one in
 * which their balances follow each other. Bills that are not in it go by their id.
 */
export const billOrder = pgTable(
  "bill_order",
  {
    ...stream(),
    billId: key("bill_id").notNull(),
    place: integer("place").notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.billId] })],
);
