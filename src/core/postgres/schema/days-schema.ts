import { bigint, boolean, date, numeric, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { textKey, time } from "./columns.ts";

// Sums of the bills of each UTC day by itself. Running totals over days are computed when they are
// read, so that a late or restated bill changes its own day's row alone: see src/core/store/days.ts.

/** What the days of types and of symbols both sum up: see src/core/store/day-sums.ts. */
const sums = () => ({
  bills: bigint("bills", { mode: "number" }).notNull(),
  /** The sums of the amounts above zero, and of those below. */
  amountIn: numeric("amount_in").notNull(),
  amountOut: numeric("amount_out").notNull(),
  /** The same of amounts less their fees: what a unified account's amounts are without the fee inside. */
  grossIn: numeric("gross_in").notNull(),
  grossOut: numeric("gross_out").notNull(),
  feeIn: numeric("fee_in").notNull(),
  feeOut: numeric("fee_out").notNull(),
  coupon: numeric("coupon").notNull(),
});

/**
 * The sums of a UTC day's bills of one business type. They say what the bills are, and not what they mean:
 * categories and wallet rules are joined when a view is read. A row may have no bills left.
 */
export const typeDays = pgTable(
  "type_days",
  {
    account: textKey("account").notNull(),
    productType: textKey("product_type").notNull(),
    coin: textKey("coin").notNull(),
    day: date("day").notNull(),
    businessType: textKey("business_type").notNull(),
    ...sums(),
    /** How many bills show no balance. */
    withoutBalance: bigint("without_balance", { mode: "number" }).notNull(),
    withExtra: bigint("with_extra", { mode: "number" }).notNull(),
    oddIds: bigint("odd_ids", { mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.coin, t.day, t.businessType] })],
);

/** The sums of a UTC day's bills of one symbol and business type. */
export const symbolDays = pgTable(
  "symbol_days",
  {
    account: textKey("account").notNull(),
    productType: textKey("product_type").notNull(),
    day: date("day").notNull(),
    coin: textKey("coin").notNull(),
    /** Empty for bills that name no symbol. */
    symbol: textKey("symbol").notNull(),
    businessType: textKey("business_type").notNull(),
    ...sums(),
  },
  (t) => [
    // The name that Drizzle makes is longer than Postgres allows.
    primaryKey({
      name: "symbol_days_pk",
      columns: [t.account, t.productType, t.day, t.coin, t.symbol, t.businessType],
    }),
  ],
);

/**
 * The first or the last bill of a chain's day that shows a balance, by time and id.
 * A day without any has no row.
 */
export const dayEnds = pgTable(
  "day_ends",
  {
    account: textKey("account").notNull(),
    wallet: textKey("wallet").notNull(),
    coin: textKey("coin").notNull(),
    day: date("day").notNull(),
    isLast: boolean("is_last").notNull(),
    cTime: time("c_time").notNull(),
    productType: textKey("product_type").notNull(),
    billId: textKey("bill_id").notNull(),
    balance: numeric("balance").notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.wallet, t.coin, t.day, t.isLast] })],
);
