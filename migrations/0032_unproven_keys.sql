ALTER TABLE "stream_states" ADD COLUMN "unproven_key" text;--> statement-breakpoint
ALTER TABLE "stream_states" ADD COLUMN "unproven_since" timestamp (3) with time zone;--> statement-breakpoint
-- Keys of accounts without a bill have proven nothing. Where there were several, any next key reads all anew.
INSERT INTO "stream_states" ("account", "product_type", "unproven_key", "unproven_since")
SELECT "account", '', CASE WHEN count(*) = 1 THEN min("fingerprint") ELSE '' END, min("seen_at")
FROM "account_keys"
WHERE "account" NOT IN (SELECT "account" FROM "bill_counts" WHERE "bills" > 0)
GROUP BY "account"
ON CONFLICT ("account", "product_type") DO UPDATE
SET "unproven_key" = excluded."unproven_key", "unproven_since" = excluded."unproven_since";--> statement-breakpoint
DELETE FROM "account_keys"
WHERE "account" NOT IN (SELECT "account" FROM "bill_counts" WHERE "bills" > 0);
