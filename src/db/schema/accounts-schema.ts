import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  index,
  pgTable,
  primaryKey,
  text,
  unique,
} from "drizzle-orm/pg-core";
import { key, time } from "./columns.ts";

/** What a user decided about an account or one of its product types, and what the exchange said about it. */
export const streamStates = pgTable(
  "stream_states",
  {
    account: key("account").notNull(),
    /** Empty for the whole account. */
    productType: key("product_type").notNull(),
    /** Since when it is retired and no longer synced; null where it is not retired. */
    retiredAt: time("retired_at"),
    /** Since when it is paused; of a whole account only. */
    pausedAt: time("paused_at"),
    /** Whether its key is for demo trading, as the last sync was configured; of a whole account only. */
    isDemo: boolean("is_demo").notNull().default(false),
    /** The API that serves the account, as the last run was told; of a whole account only. */
    mode: text("mode", { enum: ["classic", "unified"] }),
    /** The exchange's time when a run was first told so. */
    modeSince: time("mode_since"),
    /** Since when the exchange refuses this product type to the account's key; null where it does not. */
    notAvailableSince: time("not_available_since"),
    /**
     * The fingerprint of the key that reads the account now, as long as it has not served bills of two times;
     * of a whole account only. What it read since then counts for this key alone: see account-keys.ts.
     */
    unprovenKey: text("unproven_key"),
    unprovenSince: time("unproven_since"),
    /** When a run last asked for it and was refused. */
    notAvailableAskedAt: time("not_available_asked_at"),
    notAvailableReason: text("not_available_reason"),
    /** Since when the account is in the other mode, which does not serve this product type; else null. */
    closedAt: time("closed_at"),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.productType] }),
    check("stream_states_mode", sql`${t.mode} in ('classic', 'unified')`),
  ],
);

/** Accounts that were added by command, with their settings. Credentials are kept elsewhere. */
export const addedAccounts = pgTable("accounts", {
  account: key("account").primaryKey(),
  /** Null for the product types that are synced for all accounts. */
  productTypes: text("product_types").array(),
  /** Whether the key is one for demo trading. */
  demo: boolean("demo").notNull(),
  ltv: boolean("ltv").notNull(),
  /** A parent account's risk units; null for a risk unit's own account. */
  riskUnitIds: text("risk_unit_ids").array(),
  addedAt: time("added_at").notNull(),
});

/** The leases of accounts and of the exchange's users: see lease.ts. */
export const leases = pgTable(
  "leases",
  {
    /** An account's name, or "user " and a user's id. */
    account: key("account").primaryKey(),
    /** Host and process of the holder; empty once the lease was given back. */
    holder: text("holder").notNull(),
    /** One more with each new holder. Only the latest holder may write. */
    epoch: bigint("epoch", { mode: "number" }).notNull(),
    /** When the holder took it; null where an older version did. */
    takenAt: time("taken_at"),
    expiresAt: time("expires_at").notNull(),
    /** The exchange's user whose account it is, as the last sync knew. */
    uid: text("uid"),
  },
  (t) => [
    // Makes the epoch a key: its change waits for transactions that share the row.
    unique("leases_epoch").on(t.account, t.epoch),
    // For holders.ts: each process looks every second for others at work. Renewals do not change the index.
    index("leases_held").on(t.holder).where(sql`${t.holder} <> ''`),
  ],
);

/**
 * The account under which an API key's rows are stored. A key is kept as a fingerprint only. The primary
 * key does not contain the account, so that the server itself refuses one key under two names.
 */
export const accountKeys = pgTable("account_keys", {
  /** HMAC-SHA-256 of the API key under the database's salt, hexadecimal. */
  fingerprint: key("fingerprint").primaryKey(),
  account: key("account").notNull(),
  seenAt: time("seen_at").notNull(),
});

/**
 * The one salt of a database's fingerprints. With a salt for each key, one key under two names would go
 * unnoticed. Without a salt, the same key could be recognised in two databases.
 */
export const keySalt = pgTable(
  "key_salt",
  { isOnly: boolean("is_only").primaryKey(), salt: text("salt").notNull() },
  (t) => [check("key_salt_is_one_row", sql`${t.isOnly}`)],
);
