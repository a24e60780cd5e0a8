ALTER TABLE "type_days" DROP COLUMN "first_at";--> statement-breakpoint
ALTER TABLE "type_days" DROP COLUMN "last_at";