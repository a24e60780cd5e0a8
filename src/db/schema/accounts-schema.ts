import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { key, time } from "./columns.ts";

/** What a user decided of an account or of one of its product types, and what the exchange said of it. */
export const streamStates = pgTable(
  "stream_states",
  {
    account: key("account").notNull(),
    /** Empty for the whole account. */
    productType: key("product_type").notNull(),
    /** Since when nobody wants it to be read any more; null where it is wanted again. */
    retiredAt: time("retired_at"),
    /** Since when syncs leave it out for now; of a whole account only. */
    pausedAt: time("paused_at"),
    /** Which API serves the account, as the last run was told; of a whole account only. */
    mode: text("mode", { enum: ["classic", "unified"] }),
    /** The exchange's time when a run was first told so. */
    modeSince: time("mode_since"),
    /** Since when the exchange refuses it to the account's key; null where it does not. */
    notAvailableSince: time("not_available_since"),
    /** When it was last asked for in vain. */
    notAvailableAskedAt: time("not_available_asked_at"),
    notAvailableReason: text("not_available_reason"),
    /** Since when the account is of the other mode, which serves nothing of it; null where it is not. */
    closedAt: time("closed_at"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.productType] }),
    check("stream_states_mode", sql`${t.mode} in ('classic', 'unified')`),
  ],
);

/** Accounts that were added by command, with all that is to be known of them but their credentials. */
export const addedAccounts = pgTable("accounts", {
  account: key("account").primaryKey(),
  /** Null for those that are wanted of all accounts. */
  productTypes: text("product_types").array(),
  /** Whether its key is of demo trading. */
  demo: boolean("demo").notNull(),
  ltv: boolean("ltv").notNull(),
  /** A parent account's risk units; null for a risk unit's own account. */
  riskUnitIds: text("risk_unit_ids").array(),
  addedAt: time("added_at").notNull(),
});

/** Sync leases: see renewable-lease.ts. */
export const accountLeases = pgTable(
  "account_leases",
  {
    account: key("account").primaryKey(),
    /** Host and process of the holder; empty once the lease was given back. */
    holder: text("holder").notNull(),
    /** One more with each holder; a page is only written by the latest. */
    epoch: bigint("epoch", { mode: "number" }).notNull(),
    /** When the holder took it; null where an older version did. */
    takenAt: time("taken_at"),
    expiresAt: time("expires_at").notNull(),
    /** The epoch of the verify lease whose holder was left its rate share. */
    yieldedTo: bigint("yielded_to", { mode: "number" }),
  },
  // Each process looks every second who else is at work: see neighbours.ts. Renewals do not touch it.
  (t) => [index("account_leases_held").on(t.holder).where(sql`${t.holder} <> ''`)],
);

/** Verify leases: see renewable-lease.ts. */
export const accountGuests = pgTable("account_guests", {
  account: key("account").primaryKey(),
  /** Host and process of the holder; empty once the lease was given back. */
  holder: text("holder").notNull(),
  epoch: bigint("epoch", { mode: "number" }).notNull(),
  /** When the holder took it; null where an older version did. */
  takenAt: time("taken_at"),
  expiresAt: time("expires_at").notNull(),
});

/**
 * Which account a key's rows were stored under, by fingerprint: never the key. One row a key,
 * whatever its account, so that the server itself keeps a key from two names.
 */
export const accountKeys = pgTable("account_keys", {
  /** HMAC-SHA-256 of the API key under the database's salt, hexadecimal. */
  fingerprint: key("fingerprint").primaryKey(),
  account: key("account").notNull(),
  seenAt: time("seen_at").notNull(),
});

/**
 * The one salt of a database's fingerprints: with a salt for each, one key under two names would
 * not be seen; without any, the same key could be recognised in two databases.
 */
export const keySalt = pgTable(
  "key_salt",
  { isOnly: boolean("is_only").primaryKey(), salt: text("salt").notNull() },
  (t) => [check("key_salt_is_one_row", sql`${t.isOnly}`)],
);
