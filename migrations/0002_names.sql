ALTER TABLE "business_types" DROP CONSTRAINT "business_types_category_is_known";--> statement-breakpoint
UPDATE "business_types" SET
	"category" = CASE "category" WHEN 'fees' THEN 'fee_bills' WHEN 'unknown' THEN 'unclassified' ELSE "category" END,
	"listed_category" = CASE "listed_category" WHEN 'fees' THEN 'fee_bills' WHEN 'unknown' THEN 'unclassified' ELSE "listed_category" END,
	"category_by_user" = CASE "category_by_user" WHEN 'fees' THEN 'fee_bills' WHEN 'unknown' THEN 'unclassified' ELSE "category_by_user" END;--> statement-breakpoint
ALTER TABLE "business_types" ADD CONSTRAINT "business_types_category_is_known" CHECK ("category" in ('transfer', 'trade', 'liquidation', 'funding', 'margin', 'bonus', 'copy', 'delivery', 'interest', 'conversion', 'spot', 'loan', 'fee_bills', 'deposit', 'withdrawal', 'unclassified'));--> statement-breakpoint
ALTER TABLE "business_types" ALTER COLUMN "listed_category" SET DEFAULT 'unclassified';--> statement-breakpoint
UPDATE "wallet_rules" SET "category" = CASE "category" WHEN 'fees' THEN 'fee_bills' ELSE 'unclassified' END WHERE "category" IN ('fees', 'unknown');--> statement-breakpoint
ALTER TABLE "symbols" RENAME TO "spot_pairs";--> statement-breakpoint
ALTER TABLE "spot_pairs" RENAME CONSTRAINT "symbols_pkey" TO "spot_pairs_pkey";--> statement-breakpoint
ALTER TABLE "spot_pairs" RENAME CONSTRAINT "symbols_finite" TO "spot_pairs_finite";--> statement-breakpoint
ALTER TABLE "symbol_versions" RENAME TO "spot_pair_versions";--> statement-breakpoint
ALTER TABLE "spot_pair_versions" RENAME CONSTRAINT "symbol_versions_symbol_valid_from_pk" TO "spot_pair_versions_symbol_valid_from_pk";--> statement-breakpoint
ALTER TABLE "spot_pair_versions" RENAME CONSTRAINT "symbol_versions_time" TO "spot_pair_versions_time";--> statement-breakpoint
ALTER TABLE "spot_pair_versions" RENAME CONSTRAINT "symbol_versions_finite" TO "spot_pair_versions_finite";--> statement-breakpoint
ALTER INDEX "symbol_versions_current" RENAME TO "spot_pair_versions_current";--> statement-breakpoint
ALTER TABLE "symbol_lists" RENAME TO "instrument_lists";--> statement-breakpoint
ALTER TABLE "instrument_lists" RENAME CONSTRAINT "symbol_lists_pkey" TO "instrument_lists_pkey";--> statement-breakpoint
ALTER VIEW IF EXISTS "analytics"."coverage" RENAME TO "time_states";--> statement-breakpoint
UPDATE "analytics_views" SET "name" = 'time_states' WHERE "name" = 'coverage';--> statement-breakpoint
ALTER TABLE "accounts" RENAME TO "added_accounts";--> statement-breakpoint
ALTER TABLE "added_accounts" RENAME CONSTRAINT "accounts_pkey" TO "added_accounts_pkey";--> statement-breakpoint
ALTER TABLE "sync_runs" RENAME TO "runs";--> statement-breakpoint
ALTER TABLE "runs" RENAME CONSTRAINT "sync_runs_pkey" TO "runs_pkey";--> statement-breakpoint
ALTER INDEX "sync_runs_time" RENAME TO "runs_time";--> statement-breakpoint
ALTER INDEX "sync_runs_last" RENAME TO "runs_last";--> statement-breakpoint
ALTER TABLE "ledgers" RENAME COLUMN "history" TO "tax_comparison";--> statement-breakpoint
UPDATE "ledgers" SET "tax_comparison" = replace("tax_comparison"::text, '"crowded":', '"unrecovered":')::json WHERE "tax_comparison" -> 'crowded' IS NOT NULL;--> statement-breakpoint
ALTER TABLE "wallet_balances" RENAME COLUMN "is_supposed" TO "may_differ";--> statement-breakpoint
ALTER TABLE "rejected_bills" RENAME COLUMN "resolved_at" TO "closed_at";
