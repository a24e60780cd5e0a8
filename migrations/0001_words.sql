ALTER TABLE "streams" RENAME TO "ledgers";--> statement-breakpoint
ALTER TABLE "ledgers" RENAME CONSTRAINT "streams_account_product_type_pk" TO "ledgers_account_product_type_pk";--> statement-breakpoint
ALTER TABLE "ledgers" RENAME CONSTRAINT "streams_mode" TO "ledgers_mode";--> statement-breakpoint
ALTER TABLE "ledgers" RENAME COLUMN "settled_to" TO "first_gap_at";--> statement-breakpoint
ALTER TABLE "ledger_breaks" RENAME COLUMN "product_type" TO "ledger";--> statement-breakpoint
ALTER TABLE "wallet_balances" RENAME COLUMN "product_type" TO "wallet";--> statement-breakpoint
ALTER TABLE "wallet_balances" RENAME CONSTRAINT "wallet_balances_account_product_type_coin_taken_at_pk" TO "wallet_balances_account_wallet_coin_taken_at_pk";--> statement-breakpoint
ALTER TABLE "ledger_breaks" RENAME COLUMN "unrepaired_at" TO "repair_failed_at";--> statement-breakpoint
ALTER TABLE "rejected_bills" ADD COLUMN "accepted_by" text;--> statement-breakpoint
ALTER TABLE "type_days" RENAME COLUMN "apart_in" TO "gross_in";--> statement-breakpoint
ALTER TABLE "type_days" RENAME COLUMN "apart_out" TO "gross_out";--> statement-breakpoint
ALTER TABLE "symbol_days" RENAME COLUMN "apart_in" TO "gross_in";--> statement-breakpoint
ALTER TABLE "symbol_days" RENAME COLUMN "apart_out" TO "gross_out";--> statement-breakpoint
ALTER VIEW IF EXISTS "known_entries" RENAME TO "rare_entries";--> statement-breakpoint
UPDATE "analytics_views" SET "name" = 'rare_entries' WHERE "name" = 'known_entries';
