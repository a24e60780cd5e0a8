import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  integer,
  numeric,
  pgTable,
  primaryKey,
  text,
  unique,
} from "drizzle-orm/pg-core";
import { key, time } from "./columns.ts";

const stream = () => ({
  account: key("account").notNull(),
  productType: key("product_type").notNull(),
});

const rule = () => ({
  countsAmount: boolean("counts_amount").notNull(),
  countsFee: boolean("counts_fee").notNull(),
  countsCoupon: boolean("counts_coupon").notNull(),
});

const evidence = () => ({
  /** Bills whose balance and whose predecessor's were served. */
  tested: bigint("tested", { mode: "number" }).notNull(),
  /** Those among them that fit, but for one unit in the last place. */
  fitting: bigint("fitting", { mode: "number" }).notNull(),
  learnedAt: time("learned_at").notNull(),
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
    ...rule(),
    /** False where nothing fits: such bills are not held against the ledger. */
    isTestable: boolean("is_testable").notNull(),
    ...evidence(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.category] })],
);

/** The same of a type whose bills show another rule than their category's: it goes before that. */
export const walletTypeRules = pgTable(
  "wallet_type_rules",
  {
    ...stream(),
    businessType: key("business_type").notNull(),
    ...rule(),
    ...evidence(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.businessType] })],
);

/**
 * The order of bills whose times and ids do not tell the one in which their balances follow each
 * other. Bills that are not in it go by their time, and within a millisecond by their id.
 */
export const billOrder = pgTable(
  "bill_order",
  {
    ...stream(),
    billId: key("bill_id").notNull(),
    /** Among bills of one time; 0 where their ids tell it. */
    place: integer("place").notNull(),
    /** The time of the latest bill before it, where that is later than its own. */
    bookedAt: time("booked_at"),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.billId] })],
);

/** Where the ledger does not add up, and what somebody said to it. A row is never deleted. */
export const ledgerBreaks = pgTable(
  "ledger_breaks",
  {
    /** Once in the database, of the sequence `ledger_break_ids`; a check that fails leaves a hole. */
    breakId: bigint("break_id", { mode: "number" }).notNull(),
    kind: text("kind").notNull(),
    ...stream(),
    /** Empty where a break is not of one coin. */
    coin: key("coin").notNull(),
    /** What of it is broken: a bill's id, a day, a snapshot's time. */
    anchor: key("anchor").notNull(),
    happenedAt: time("happened_at"),
    expected: numeric("expected"),
    observed: numeric("observed"),
    difference: numeric("difference"),
    firstBadBill: text("first_bad_bill"),
    lastGoodBill: text("last_good_bill"),
    /** Those bills' product types, where they are others than the break's: of a unified wallet. */
    firstBadProductType: text("first_bad_product_type"),
    lastGoodProductType: text("last_good_product_type"),
    explanation: text("explanation").notNull(),
    firstSeenAt: time("first_seen_at").notNull(),
    lastSeenAt: time("last_seen_at").notNull(),
    /** open · explained: signed off with a note · resolved: no longer found */
    state: text("state", { enum: ["open", "explained", "resolved"] }).notNull(),
    note: text("note"),
    signedOffAt: time("signed_off_at"),
    resolvedAt: time("resolved_at"),
    signedOffBy: text("signed_off_by"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.breakId] }),
    unique("ledger_breaks_identity").on(t.account, t.productType, t.coin, t.kind, t.anchor),
    check("ledger_breaks_state", sql`${t.state} in ('open', 'explained', 'resolved')`),
  ],
);

/** Every sign-off and reopening of a break. Rows are only added. */
export const breakDecisions = pgTable(
  "break_decisions",
  {
    account: key("account").notNull(),
    breakId: bigint("break_id", { mode: "number" }).notNull(),
    /** From 1 for each break. */
    place: integer("place").notNull(),
    decision: text("decision", { enum: ["signed off", "reopened"] }).notNull(),
    decidedAt: time("decided_at").notNull(),
    /** The name that was given; null where none was, and where the program reopened it. */
    decidedBy: text("decided_by"),
    note: text("note"),
    /** The break's difference at that time. */
    difference: numeric("difference"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.breakId, t.place] }),
    check("break_decisions_decision", sql`${t.decision} in ('signed off', 'reopened')`),
  ],
);

/** What was reconciled of a chain: the bills of one account, product type and coin. */
export const reconciledChains = pgTable(
  "reconciled_chains",
  {
    ...stream(),
    coin: key("coin").notNull(),
    /** Bills stored before this moment of the database's clock were held against each other. */
    ingestedBefore: time("ingested_before").notNull(),
    /** When all of it was checked the last time: bills whose balance could be computed. */
    tested: bigint("tested", { mode: "number" }).notNull(),
    /** Those among them that were off by one unit in the last place. */
    rounded: bigint("rounded", { mode: "number" }).notNull(),
    /** When the chain was checked last; null where an older version did. */
    reconciledAt: time("reconciled_at"),
    /** Up to when what that check judged was completely read; null where nothing was. */
    reconciledThrough: time("reconciled_through"),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.coin] })],
);
