import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  index,
  integer,
  json,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { categories, frequentTypes } from "../../contract/business-types.ts";
import { finite, ledger, textKey, time, times } from "./columns.ts";

const frequentList = sql.raw(`array[${frequentTypes.map((code) => `'${code}'`).join(", ")}]`);

const billContent = () => ({
  symbol: text("symbol"),
  amount: numeric("amount").notNull(),
  fee: numeric("fee").notNull(),
  feeByCoupon: numeric("fee_by_coupon"),
  businessType: textKey("business_type").notNull(),
  coin: textKey("coin").notNull(),
  balance: numeric("balance"),
  cTime: time("c_time").notNull(),
  /** Only in a unified account: how margin is held, and an isolated position's change and balance. */
  positionType: text("position_type"),
  positionAmount: numeric("position_amount"),
  positionBalance: numeric("position_balance"),
  /**
   * Fields the contract does not list, and decimals whose spelling the columns do not keep.
   * Not jsonb, which would respell numbers.
   */
  extra: json("extra"),
  /** "tax-records": recovered from tax records, without coupon and mostly without balance. Null: served as a bill. */
  source: text("source"),
  /** When this content was first stored. */
  ingestedAt: time("ingested_at").notNull(),
});

/** A bill, as it was served last. */
export const bills = pgTable(
  "bills",
  { ...ledger(), billId: textKey("bill_id").notNull(), ...billContent() },
  (t) => [
    primaryKey({ columns: [t.account, t.productType, t.billId] }),
    index("bills_time").on(t.account, t.productType, t.cTime),
    // The bills of a coin by day, and the last one that shows a balance: see src/core/views/bill-sums.ts. Its migration
    // includes the columns that are summed.
    index("bills_chain").on(
      t.account,
      t.productType,
      t.coin,
      sql`num_nulls(${t.balance})`,
      sql`((${t.cTime} at time zone 'UTC')::date)`,
      t.cTime,
    ),
    // For views of transfers, liquidations and bonuses (src/core/views/days/rare_entries.sql), and for types without category.
    index("bills_rare")
      .on(t.account, t.productType, t.businessType, t.cTime)
      .where(sql`${t.businessType} <> all (${frequentList})`),
    // For incremental exports and checks. Rows are stored nearly in this order, so BRIN suffices. A B-tree by
    // account would save a check some 10 ms, and slow inserts by 12 to 19 %.
    index("bills_ingested").using("brin", t.ingestedAt).with({ autosummarize: true }),
    ...[t.amount, t.fee, t.feeByCoupon, t.balance, t.positionAmount, t.positionBalance].map(
      (column) => finite(`bills_${column.name}_finite`, column),
    ),
  ],
);

/** What a bill said before the exchange restated it; revision 1 is the first that was ever stored. */
export const billRevisions = pgTable(
  "bill_revisions",
  {
    ...ledger(),
    billId: textKey("bill_id").notNull(),
    revision: integer("revision").notNull(),
    ...billContent(),
    replacedAt: time("replaced_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.account, t.productType, t.billId, t.revision] })],
);

/** A row that broke the API's contract, character for character as served, and where it broke it. */
export const rejectedBills = pgTable(
  "rejected_bills",
  {
    ...ledger(),
    /** SHA-256 of the row as `JSON.stringify` writes it, hexadecimal. */
    digest: textKey("digest").notNull(),
    /** The row's JSON, as it was written. Text, since jsonb cannot hold all that JSON can. */
    received: text("received").notNull(),
    /** Where the row breaks the contract: the path of a member, empty for the whole row. */
    path: text("path").notNull(),
    /** Why it does. */
    reason: text("reason").notNull(),
    rejectedAt: time("rejected_at").notNull(),
    /** When it was stored as a bill, or accepted. */
    closedAt: time("closed_at"),
    /** Why it was accepted; null where it was not. */
    note: text("note"),
    acceptedBy: text("accepted_by"),
    /** The bill's id, where the row has a readable one. */
    billId: textKey("bill_id"),
    /** Since when another row with that id, valid or rejected, is the one served last. */
    supersededAt: time("superseded_at"),
    /** "tax-records" for a row of the tax records, which are read in another way. */
    source: text("source"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.productType, t.digest] }),
    // Each page looks into this index. It is empty where no rejected row is open.
    index("rejected_bills_current")
      .on(t.account, t.productType, t.billId)
      .where(sql`${t.closedAt} is null and ${t.supersededAt} is null`),
  ],
);

/**
 * A ledger, or with an empty `product_type` a whole account: how many bills are stored, which time was read, lost or is
 * unread, and its state. One row a ledger, so that status counts no bills. The row of an account has what a user decided,
 * and what the exchange said.
 */
export const ledgers = pgTable(
  "ledgers",
  {
    ...ledger(),
    /** How many bills are stored. */
    bills: bigint("bills", { mode: "number" }).notNull().default(0),
    /** The time that is proven to be read. */
    covered: times("covered").notNull().default("{}"),
    /** The time that was not read before it was older than the exchange's 90 days. */
    lost: times("lost").notNull().default("{}"),
    /** The time that was recovered from tax records, which is neither covered nor lost. */
    recovered: times("recovered").notNull().default("{}"),
    /** The last comparison of tax records with stored bills; null where there was none. */
    taxComparison: json("tax_comparison"),
    /** The time of the windows that are planned, and not read to their end. */
    open: times("open").notNull().default("{}"),
    /** When the first unread time begins, which is neither covered, lost nor recovered; null where nothing was ever planned. */
    firstUnreadAt: time("first_unread_at"),
    /** The exchange's time when a run last planned, and the same moment by the database's clock. */
    plannedAt: time("planned_at"),
    plannedClock: time("planned_clock"),
    /** When a bill was last stored or restated: what is later than its last check is unchecked. */
    storedAt: time("stored_at"),
    /** Since when it is retired and no longer synced; null where it is not retired. */
    retiredAt: time("retired_at"),
    /** Since when the account is in the other mode, which does not serve this product type; else null. */
    endedAt: time("ended_at"),
    /** Since when the exchange refuses this product type to the account's key; null where it does not. */
    notAvailableSince: time("not_available_since"),
    /** When a run last asked for it and was refused. */
    notAvailableAskedAt: time("not_available_asked_at"),
    notAvailableReason: text("not_available_reason"),
    /** When the exchange last refused to tell the key what this wallet holds; null where it does not. A unified account's is of the whole account. */
    balancesRefusedAt: time("balances_refused_at"),
    // The rest is of whole accounts only.
    /** The API that serves the account, as the last run was told, and the exchange's time when a run was first told so. */
    mode: text("mode", { enum: ["classic", "unified"] }),
    modeSince: time("mode_since"),
    /** When the exchange last refused the records of withdrawals to its key; null where it does not. */
    withdrawalsRefusedAt: time("withdrawals_refused_at"),
    /** The account's first name, and when it was last renamed; null where it never was. */
    firstName: text("first_name"),
    renamedAt: time("renamed_at"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.productType] }),
    check("ledgers_mode", sql`${t.mode} in ('classic', 'unified')`),
  ],
);

/** A window that is planned and not read to its end, half-open, with its cursor. No two of a ledger overlap. */
export const windows = pgTable(
  "windows",
  {
    ...ledger(),
    windowStart: time("window_start").notNull(),
    windowEnd: time("window_end").notNull(),
    /** Where the walk resumes: it asks for ids below this one. */
    cursor: text("cursor"),
    /** The exchange's time when the first page was asked for. */
    startedAt: time("started_at"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.productType, t.windowStart, t.windowEnd] }),
    check("windows_window", sql`${t.windowStart} < ${t.windowEnd}`),
  ],
);

/** A run of a command: times, outcome, counts, error. */
export const runs = pgTable(
  "runs",
  {
    runId: uuid("run_id").primaryKey(),
    command: text("command").notNull(),
    startedAt: time("started_at").notNull(),
    finishedAt: time("finished_at"),
    /** running · complete · incomplete · stopped · failed · held: another run was at work */
    outcome: text("outcome", {
      enum: ["running", "complete", "incomplete", "stopped", "failed", "held"],
    }).notNull(),
    /** Per account and product type: what the run's summary says. */
    counts: jsonb("counts"),
    error: text("error"),
  },
  // A sync every five minutes adds 105,000 rows a year, and status reads the last one.
  (t) => [
    index("runs_time").on(t.startedAt),
    // For the last run of a command with some outcome, which may be long ago.
    index("runs_last").on(t.command, t.outcome, t.startedAt),
  ],
);

const categoryNames = sql.raw(`(${categories.map((name) => `'${name}'`).join(", ")})`);

/** A business type and its category. A user's own mapping overrides the program's list. */
export const businessTypes = pgTable(
  "business_types",
  {
    code: textKey("code").primaryKey(),
    /** The category in effect: the user's, else the listed one. */
    category: text("category").notNull(),
    meaning: text("meaning").notNull(),
    /** The category in this program's list; unclassified where the code is not in it. */
    listedCategory: text("listed_category").notNull().default("unclassified"),
    /** Set by the command types; survives every upgrade. */
    categoryByUser: text("category_by_user"),
    /** When the category in effect last changed; null where it never did. */
    changedAt: time("changed_at"),
  },
  (t) => [
    check("business_types_category_is_known", sql`${t.category} in ${categoryNames}`),
    check(
      "business_types_category_is_by_user_or_listed",
      sql`${t.category} = coalesce(${t.categoryByUser}, ${t.listedCategory})`,
    ),
  ],
);

/** A view of schema `analytics`, with the hash of the text that created it. See views.ts. */
export const analyticsViews = pgTable("analytics_views", {
  name: textKey("name").primaryKey(),
  /** SHA-256 of the view's file, hexadecimal. */
  hash: text("hash").notNull(),
});
