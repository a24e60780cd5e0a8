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
import { textKey, time } from "./columns.ts";

/** Which process reads and writes an account, or reads a user's accounts, and until when. See lease.ts. */
export const leases = pgTable(
  "leases",
  {
    /** An account's name, or "user " and a user's id. */
    account: textKey("account").primaryKey(),
    /** Host and process of the holder; empty once the lease was given back. */
    holder: text("holder").notNull(),
    /** One more with each new holder. Only the latest holder may write. */
    epoch: bigint("epoch", { mode: "number" }).notNull(),
    /** When the holder took it; null where an older version did. */
    takenAt: time("taken_at"),
    expiresAt: time("expires_at").notNull(),
  },
  (t) => [
    // Makes the epoch a key: its change waits for transactions that share the row.
    unique("leases_epoch").on(t.account, t.epoch),
  ],
);

/**
 * The fingerprint of a key, and the account under which its rows are stored. A key is kept as a fingerprint only. The primary
 * key does not contain the account, so that the server itself refuses one key under two names.
 */
export const accountKeys = pgTable("account_keys", {
  /** HMAC-SHA-256 of the API key under the database's salt, hexadecimal. */
  fingerprint: textKey("fingerprint").primaryKey(),
  account: textKey("account").notNull(),
});

/**
 * The exchange's user whose ledger it is, and the account under which it is stored. The primary key does not contain the
 * account, so that the server itself refuses one user's ledger under two names.
 */
export const accountUsers = pgTable(
  "account_users",
  {
    /** The user's id; `demo ` before it for a key of demo trading. */
    userId: textKey("user_id").notNull(),
    productType: textKey("product_type").notNull(),
    account: textKey("account").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.userId, t.productType] }),
    index("account_users_account").on(t.account),
  ],
);

/**
 * The one salt of the database's fingerprints. With a salt for each key, one key under two names would go
 * unnoticed. Without a salt, the same key could be recognised in two databases.
 */
export const keySalt = pgTable(
  "key_salt",
  { isOnly: boolean("is_only").primaryKey(), salt: text("salt").notNull() },
  (t) => [check("key_salt_is_one_row", sql`${t.isOnly}`)],
);
