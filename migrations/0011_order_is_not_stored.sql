DROP TABLE "bill_order" CASCADE;--> statement-breakpoint
ALTER TABLE "day_ends" RENAME COLUMN "booked_at" TO "c_time";--> statement-breakpoint
ALTER TABLE "day_ends" DROP COLUMN "place";