ALTER TABLE "business_types" ADD COLUMN "changed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "ledgers" ADD COLUMN "first_name" text;--> statement-breakpoint
ALTER TABLE "ledgers" ADD COLUMN "renamed_at" timestamp (3) with time zone;