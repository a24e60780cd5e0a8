ALTER TABLE "streams" DROP COLUMN "covered_before";--> statement-breakpoint
ALTER TABLE "streams" DROP COLUMN "unproven_key";--> statement-breakpoint
ALTER TABLE "streams" DROP COLUMN "unproven_since";