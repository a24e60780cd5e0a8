DROP TABLE "account_guests" CASCADE;--> statement-breakpoint
ALTER TABLE "account_leases" RENAME TO "leases";--> statement-breakpoint
ALTER TABLE "leases" RENAME CONSTRAINT "account_leases_pkey" TO "leases_pkey";--> statement-breakpoint
ALTER TABLE "leases" DROP COLUMN "yielded_to";--> statement-breakpoint
ALTER TABLE "leases" ADD CONSTRAINT "leases_epoch" UNIQUE("account","epoch");--> statement-breakpoint
DROP INDEX "account_leases_user";--> statement-breakpoint
ALTER INDEX "account_leases_held" RENAME TO "leases_held";
