import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  date,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import { key, time } from "./columns.ts";

// Sums of the bills of each UTC day by itself. Running totals over days are computed when they are
// read, so that a late or restated bill changes its own day's row alone: see src/db/days.

/**
 * A day of a wallet: of an account, a classic product type or `UTA`, and a coin. Only days with bills
 * have a row. Bills are in the order of `analytics.activity`.
 */
export const ledgerDays = pgTable(
  "ledger_days",
  {
    account: key("account").notNull(),
    wallet: key("wallet").notNull(),
    coin: key("coin").notNull(),
    day: date("day").notNull(),
    bills: bigint("bills", { mode: "number" }).notNull(),
    /** The amount by which all bills of the day move the balance. */
    net: numeric("net").notNull(),
    realisedPnl: numeric("realised_pnl").notNull(),
    tradingFees: numeric("trading_fees").notNull(),
    feeRebates: numeric("fee_rebates").notNull(),
    fundingReceived: numeric("funding_received").notNull(),
    fundingPaid: numeric("funding_paid").notNull(),
    liquidation: numeric("liquidation").notNull(),
    transfersIn: numeric("transfers_in").notNull(),
    transfersOut: numeric("transfers_out").notNull(),
    bonus: numeric("bonus").notNull(),
    copy: numeric("copy").notNull(),
    delivery: numeric("delivery").notNull(),
    margin: numeric("margin").notNull(),
    interest: numeric("interest").notNull(),
    conversion: numeric("conversion").notNull(),
    spot: numeric("spot").notNull(),
    loan: numeric("loan").notNull(),
    fees: numeric("fees").notNull(),
    unmapped: numeric("unmapped").notNull(),
    /** The first balance served in the day, less what the bills up to it move. Null where none was served. */
    opening: numeric("opening"),
    /** How many bills come before the one with that first balance. */
    leadBills: bigint("lead_bills", { mode: "number" }),
    openedAt: time("opened_at"),
    /** The last balance served in the day, plus what the bills after it move. */
    closing: numeric("closing"),
    /** How many bills there are from the one with that last balance on. */
    tailBills: bigint("tail_bills", { mode: "number" }),
    /**
     * The sum of rounding errors: of differences between a served balance and the one before it in the day
     * that are at most one unit in the last place for each bill between them.
     */
    rounding: numeric("rounding").notNull(),
    roundings: bigint("roundings", { mode: "number" }).notNull(),
    roundedFirstAt: time("rounded_first_at"),
    roundedLastAt: time("rounded_last_at"),
    /** The sum of larger differences between a served balance and the one before it in the day. */
    difference: numeric("difference").notNull(),
    /**
     * Each of these larger differences, and its time below. Which of them are settled is known only once
     * reconcile has run. Null where there is none.
     */
    differences: numeric("differences").array(),
    differenceTimes: timestamp("difference_times", {
      withTimezone: true,
      precision: 3,
      mode: "date",
    }).array(),
    /** The categories of the day's bills, so that a query for rare ones can skip other days. */
    categories: text("categories").array().notNull(),
    /**
     * The distinct times of the day's transfers, liquidations and bonuses, for views that look for them.
     * Null where there are more than a hundred.
     */
    soughtTimes: timestamp("sought_times", {
      withTimezone: true,
      precision: 3,
      mode: "date",
    }).array(),
  },
  (t) => [primaryKey({ columns: [t.account, t.wallet, t.coin, t.day] })],
);

/** Fees, funding and profit of a day's bills by contract. Days without any of them have no row. */
export const symbolDays = pgTable(
  "symbol_days",
  {
    account: key("account").notNull(),
    productType: key("product_type").notNull(),
    wallet: key("wallet").notNull(),
    day: date("day").notNull(),
    coin: key("coin").notNull(),
    /** Empty for bills that name no symbol. */
    symbol: text("symbol").notNull(),
    feeBills: bigint("fee_bills", { mode: "number" }).notNull(),
    fees: numeric("fees").notNull(),
    rebates: numeric("rebates").notNull(),
    paidByCoupon: numeric("paid_by_coupon").notNull(),
    fundingBills: bigint("funding_bills", { mode: "number" }).notNull(),
    fundingReceived: numeric("funding_received").notNull(),
    fundingPaid: numeric("funding_paid").notNull(),
    profitBills: bigint("profit_bills", { mode: "number" }).notNull(),
    profit: numeric("profit").notNull(),
    loss: numeric("loss").notNull(),
    /** How many bills have a fee, funding or profit. */
    bills: bigint("bills", { mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.day, t.coin, t.symbol] })],
);

/** Findings about a day's bills that need no other day: rows of `analytics.data_quality`. */
export const checkDays = pgTable(
  "check_days",
  {
    account: key("account").notNull(),
    productType: key("product_type").notNull(),
    wallet: key("wallet").notNull(),
    day: date("day").notNull(),
    check: text("check").notNull(),
    bills: bigint("bills", { mode: "number" }).notNull(),
    firstAt: time("first_at").notNull(),
    lastAt: time("last_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.day, t.check] })],
);

/**
 * Days whose rows in the tables above may be out of date. A day is marked in the transaction that changes
 * its bills. Until it is stored anew, readers compute it from the bills.
 */
export const dirtyDays = pgTable(
  "dirty_days",
  {
    account: key("account").notNull(),
    wallet: key("wallet").notNull(),
    day: date("day").notNull(),
    /**
     * bills: bills were stored, restated or moved; written by whoever holds the account ·
     * meaning: a type's category, a wallet rule or the order within a millisecond changed, or a break shows
     * that somebody changed rows by hand; written by whoever holds the account's meaning.
     * The two kinds of writers do not wait for each other, so each has rows of its own.
     */
    cause: text("cause", { enum: ["bills", "meaning"] }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.wallet, t.day, t.cause] }),
    check("dirty_days_cause", sql`${t.cause} in ('bills', 'meaning')`),
  ],
);

/** What the days of types and of symbols both sum up: see src/db/days/day-sums.ts. */
const sums = () => ({
  bills: bigint("bills", { mode: "number" }).notNull(),
  /** The sums of the amounts above zero, and of those below. */
  amountIn: numeric("amount_in").notNull(),
  amountOut: numeric("amount_out").notNull(),
  /** The same of amounts less their fees: what a unified account's amounts are without the fee inside. */
  apartIn: numeric("apart_in").notNull(),
  apartOut: numeric("apart_out").notNull(),
  feeIn: numeric("fee_in").notNull(),
  feeOut: numeric("fee_out").notNull(),
  coupon: numeric("coupon").notNull(),
});

/**
 * The sums of a day's bills of one business type. They say what the bills are, and not what they mean:
 * categories and wallet rules are joined when a view is read. A row may have no bills left.
 */
export const typeDays = pgTable(
  "type_days",
  {
    account: key("account").notNull(),
    productType: key("product_type").notNull(),
    coin: key("coin").notNull(),
    day: date("day").notNull(),
    businessType: key("business_type").notNull(),
    ...sums(),
    /** How many bills show no balance. */
    unshown: bigint("unshown", { mode: "number" }).notNull(),
    withExtra: bigint("with_extra", { mode: "number" }).notNull(),
    oddIds: bigint("odd_ids", { mode: "number" }).notNull(),
    /** No bill is earlier than this, or later than that. Restatements leave wider bounds than needed. */
    firstAt: time("first_at").notNull(),
    lastAt: time("last_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.coin, t.day, t.businessType] })],
);

/** The same by symbol, with the numbers of bills that have a figure. */
export const symbolTypeDays = pgTable(
  "symbol_type_days",
  {
    account: key("account").notNull(),
    productType: key("product_type").notNull(),
    day: date("day").notNull(),
    coin: key("coin").notNull(),
    /** Empty for bills that name no symbol. */
    symbol: key("symbol").notNull(),
    businessType: key("business_type").notNull(),
    ...sums(),
    /** How many bills have an amount; one other than their fee; a fee or coupon; any of these. */
    amountBills: bigint("amount_bills", { mode: "number" }).notNull(),
    apartBills: bigint("apart_bills", { mode: "number" }).notNull(),
    feeBills: bigint("fee_bills", { mode: "number" }).notNull(),
    movingBills: bigint("moving_bills", { mode: "number" }).notNull(),
  },
  (t) => [
    // The name that Drizzle makes is longer than Postgres allows.
    primaryKey({
      name: "symbol_type_days_pk",
      columns: [t.account, t.productType, t.day, t.coin, t.symbol, t.businessType],
    }),
  ],
);

/** The first and the last bill of a chain's day, in the order in which they moved the balance. */
export const dayEnds = pgTable(
  "day_ends",
  {
    account: key("account").notNull(),
    wallet: key("wallet").notNull(),
    coin: key("coin").notNull(),
    day: date("day").notNull(),
    isLast: boolean("is_last").notNull(),
    /** The bill's time, or the later one that its balance shows, and its learned place at that time. */
    bookedAt: time("booked_at").notNull(),
    place: integer("place").notNull(),
    productType: key("product_type").notNull(),
    billId: key("bill_id").notNull(),
    businessType: key("business_type").notNull(),
    amount: numeric("amount").notNull(),
    fee: numeric("fee").notNull(),
    feeByCoupon: numeric("fee_by_coupon"),
    /** Null where the bill shows none. */
    balance: numeric("balance"),
  },
  (t) => [primaryKey({ columns: [t.account, t.wallet, t.coin, t.day, t.isLast] })],
);
