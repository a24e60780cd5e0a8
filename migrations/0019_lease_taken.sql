ALTER TABLE "account_guests" ADD COLUMN "taken_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "account_leases" ADD COLUMN "taken_at" timestamp (3) with time zone;