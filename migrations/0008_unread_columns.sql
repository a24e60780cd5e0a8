ALTER TABLE "account_keys" DROP COLUMN "seen_at";--> statement-breakpoint
ALTER TABLE "account_users" DROP COLUMN "seen_at";--> statement-breakpoint
ALTER TABLE "accounts" DROP COLUMN "added_at";--> statement-breakpoint
ALTER TABLE "rejected_bills" DROP COLUMN "run_id";--> statement-breakpoint
ALTER TABLE "streams" DROP COLUMN "read_at";--> statement-breakpoint
ALTER TABLE "streams" DROP COLUMN "lost_at";