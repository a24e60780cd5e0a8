import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  unique,
} from "drizzle-orm/pg-core";
import { ledger, textKey, time, times } from "./columns.ts";

/**
 * Which of a bill's numbers move the balance, for a category or a type that differs from it. Learned from the ledger, since the exchange's
 * documentation does not say.
 */
export const walletRules = pgTable(
  "wallet_rules",
  {
    ...ledger(),
    category: textKey("category").notNull(),
    /** A type whose bills show another rule than their category's; empty for the rule of the category. */
    businessType: textKey("business_type").notNull().default(""),
    countsAmount: boolean("counts_amount").notNull(),
    countsFee: boolean("counts_fee").notNull(),
    countsCoupon: boolean("counts_coupon").notNull(),
    /** False where no rule fits: balances are not checked against such bills. */
    isTestable: boolean("is_testable").notNull(),
    /** How many bills could be tested: their balance and their predecessor's were served. */
    tested: bigint("tested", { mode: "number" }).notNull(),
    /** How many of these fit, to within one unit in the last place. */
    fitting: bigint("fitting", { mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.category, t.businessType] })],
);

/** A break: where the ledger does not add up, and whether somebody accepted it. Rows are never deleted. */
export const ledgerBreaks = pgTable(
  "ledger_breaks",
  {
    /** Unique in the database, from the sequence `ledger_break_ids`, with holes where a check failed. */
    breakId: bigint("break_id", { mode: "number" }).notNull(),
    kind: text("kind").notNull(),
    account: textKey("account").notNull(),
    /** A product type, or the wallet of all of a unified account; empty where it is of neither. */
    ledger: textKey("ledger").notNull(),
    /** Empty where a break does not concern one coin. */
    coin: textKey("coin").notNull(),
    /** Where the break is: a bill's id, a record and its figure, the time since which it is, or `now`. */
    anchor: textKey("anchor").notNull(),
    happenedAt: time("happened_at"),
    expected: numeric("expected"),
    observed: numeric("observed"),
    difference: numeric("difference"),
    firstBadBill: text("first_bad_bill"),
    lastGoodBill: text("last_good_bill"),
    /** The product types of those bills, where they differ from the break's, as in a unified wallet. */
    firstBadProductType: text("first_bad_product_type"),
    lastGoodProductType: text("last_good_product_type"),
    explanation: text("explanation").notNull(),
    firstSeenAt: time("first_seen_at").notNull(),
    lastSeenAt: time("last_seen_at").notNull(),
    /** open · accepted: with a note · resolved: no longer found */
    state: text("state", { enum: ["open", "accepted", "resolved"] }).notNull(),
    note: text("note"),
    acceptedAt: time("accepted_at"),
    resolvedAt: time("resolved_at"),
    acceptedBy: text("accepted_by"),
    /** When a repair last read the time around it again, and found nothing to write. */
    repairFailedAt: time("repair_failed_at"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.breakId] }),
    unique("ledger_breaks_identity").on(t.account, t.ledger, t.coin, t.kind, t.anchor),
    check("ledger_breaks_state", sql`${t.state} in ('open', 'accepted', 'resolved')`),
  ],
);

/** An acceptance or a reopening of a break. Rows are only added. */
export const breakDecisions = pgTable(
  "break_decisions",
  {
    account: textKey("account").notNull(),
    breakId: bigint("break_id", { mode: "number" }).notNull(),
    /** From 1 for each break. */
    place: integer("place").notNull(),
    decision: text("decision", { enum: ["accepted", "reopened"] }).notNull(),
    decidedAt: time("decided_at").notNull(),
    /** The name that was given; null where none was given, or the program reopened the break. */
    decidedBy: text("decided_by"),
    note: text("note"),
    /** The break's difference at that time. */
    difference: numeric("difference"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.breakId, t.place] }),
    check("break_decisions_decision", sql`${t.decision} in ('accepted', 'reopened')`),
  ],
);

/** A balance that does not follow, where a bill since the balance before is of a type that no rule fits. */
export type Unexplained = {
  /** ISO 8601. */
  readonly at: string;
  /** What was served minus what was expected, as a decimal. */
  readonly difference: string;
  /** The types that no rule fits. */
  readonly types: readonly string[];
};

/** How far a chain was reconciled. */
export const reconciledChains = pgTable(
  "reconciled_chains",
  {
    account: textKey("account").notNull(),
    wallet: textKey("wallet").notNull(),
    coin: textKey("coin").notNull(),
    /**
     * Bills stored before this time of the database's clock were checked; -infinity where the mapping of
     * their types has changed since.
     */
    checkedBefore: time("checked_before").notNull(),
    /**
     * The newest `stored_at` of the wallet's ledgers that the check saw. A transaction that was under way has an earlier time
     * than the check's, and commits what the check did not see.
     */
    storedThrough: time("stored_through").notNull().default(sql`'-infinity'`),
    /**
     * The time of the first bill that does not follow and was not judged, since it is not covered yet. From
     * there on the next check looks again. Null where there is none.
     */
    unjudgedFrom: time("unjudged_from"),
    /**
     * Where the next check may begin, as long as all that changed comes later: the time of a balance that follows and
     * is judged. Null where it begins with the first bill.
     */
    checkpoint: time("checkpoint"),
    /** At the last full check: how many bills' balances could be computed. */
    tested: bigint("tested", { mode: "number" }).notNull(),
    /** How many of these were off by one unit in the last place. */
    rounded: bigint("rounded", { mode: "number" }).notNull(),
    /** When the chain was checked last; null where an older version did. */
    reconciledAt: time("reconciled_at"),
    /** Up to when the chain's time was covered at that check; null where nothing was. */
    reconciledThrough: time("reconciled_through"),
    /** What was covered of its wallet at that check. */
    covered: times("covered").notNull().default("{}"),
    /** The balances that do not follow, where a bill since the balance before is of a type that no rule fits. */
    unexplained: jsonb("unexplained").$type<readonly Unexplained[]>().notNull().default([]),
  },
  (t) => [primaryKey({ columns: [t.account, t.wallet, t.coin] })],
);
