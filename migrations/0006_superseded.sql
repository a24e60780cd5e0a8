ALTER TABLE "rejected_bills" ADD COLUMN "bill_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "rejected_bills" ADD COLUMN "superseded_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "rejected_bills_current" ON "rejected_bills" USING btree ("account","product_type","bill_id") WHERE "rejected_bills"."resolved_at" is null and "rejected_bills"."superseded_at" is null;