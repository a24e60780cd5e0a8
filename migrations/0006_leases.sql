DROP INDEX "leases_held";--> statement-breakpoint
ALTER TABLE "leases" DROP COLUMN "uid";