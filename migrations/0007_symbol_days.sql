DROP VIEW IF EXISTS "analytics"."fees_by_symbol_day", "analytics"."funding_by_symbol_day", "analytics"."realised_pnl_by_symbol_day", "public"."contract_days";--> statement-breakpoint
ALTER TABLE "symbol_days" DROP COLUMN "amount_bills";--> statement-breakpoint
ALTER TABLE "symbol_days" DROP COLUMN "apart_bills";--> statement-breakpoint
ALTER TABLE "symbol_days" DROP COLUMN "fee_bills";