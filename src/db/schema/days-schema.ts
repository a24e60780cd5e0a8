import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  date,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import { key, time } from "./columns.ts";

// What the bills of a UTC day say by themselves. Days are put together when they are read, so that a
// late or a restated bill changes its own day alone: see src/db/days.

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
    /** What all of them move the balance by. */
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
    /** The first balance that was served, less what the day's bills up to it move. Null where none was. */
    opening: numeric("opening"),
    /** Bills before the one that shows it. */
    leadBills: bigint("lead_bills", { mode: "number" }),
    openedAt: time("opened_at"),
    /** The last balance that was served, and what the bills behind it move. */
    closing: numeric("closing"),
    /** Bills from the one that shows it on. */
    tailBills: bigint("tail_bills", { mode: "number" }),
    /** Balances off by at most one unit in the last place a bill since the day's balance before. */
    rounding: numeric("rounding").notNull(),
    roundings: bigint("roundings", { mode: "number" }).notNull(),
    roundedFirstAt: time("rounded_first_at"),
    roundedLastAt: time("rounded_last_at"),
    /** Balances that are further off the day's balance before, added up. */
    difference: numeric("difference").notNull(),
    /** Each of them, and when: whether a difference is settled, reconcile says later. Null where none is. */
    differences: numeric("differences").array(),
    differenceTimes: timestamp("difference_times", {
      withTimezone: true,
      precision: 3,
      mode: "date",
    }).array(),
    /** What its bills are about, each once: whoever looks for few of them reads no other days. */
    categories: text("categories").array().notNull(),
    /**
     * When those of its bills were that views look for, transfers, liquidations and bonuses, each time
     * once. Null where they are more than a hundred.
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
    /** Empty where a bill names none. */
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
    /** Those that have some of it, each once. */
    bills: bigint("bills", { mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.day, t.coin, t.symbol] })],
);

/** What is odd about a day's bills, each by itself: rows of `analytics.data_quality`. */
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
 * Days of which the tables above may not say what the bills do: marked in the transaction that
 * changes the bills, and computed anew whenever they are read, until they are stored anew.
 */
export const dirtyDays = pgTable(
  "dirty_days",
  {
    account: key("account").notNull(),
    wallet: key("wallet").notNull(),
    day: date("day").notNull(),
    /**
     * bills: stored, restated or moved, by whoever holds the account · meaning: a type's category, a
     * wallet rule or the order within a millisecond changed, or a break shows that somebody changed rows by
     * hand, by whoever holds the account's meaning. Two kinds of writers, which do not wait for each other,
     * never write one row.
     */
    cause: text("cause", { enum: ["bills", "meaning"] }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.wallet, t.day, t.cause] }),
    check("dirty_days_cause", sql`${t.cause} in ('bills', 'meaning')`),
  ],
);
