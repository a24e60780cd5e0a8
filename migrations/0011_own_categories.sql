ALTER TABLE "business_types" ADD COLUMN "listed_category" text DEFAULT 'unknown' NOT NULL;
--> statement-breakpoint
ALTER TABLE "business_types" ADD COLUMN "category_by_user" text;
--> statement-breakpoint
-- The list as it was until now: a category that differs from it was a user's.
WITH "listed" ("code", "category") AS (
	VALUES
		('unknown', 'unknown'),
		('trans_from_exchange', 'transfer'),
		('trans_to_exchange', 'transfer'),
		('open_long', 'trade'),
		('open_short', 'trade'),
		('close_long', 'trade'),
		('close_short', 'trade'),
		('force_close_long', 'liquidation'),
		('force_close_short', 'liquidation'),
		('contract_settle_fee', 'funding'),
		('append_margin', 'margin'),
		('adjust_down_lever_append_margin', 'margin'),
		('reduce_margin', 'margin'),
		('auto_append_margin', 'margin'),
		('cash_gift_issue', 'bonus'),
		('cash_gift_recycle', 'bonus'),
		('tracking_follow_pay', 'copy'),
		('tracking_follow_back', 'copy'),
		('tracking_trader_income', 'copy'),
		('burst_long_loss_query', 'liquidation'),
		('burst_short_loss_query', 'liquidation'),
		('trans_from_contract', 'transfer'),
		('trans_to_contract', 'transfer'),
		('trans_from_otc', 'transfer'),
		('trans_to_otc', 'transfer'),
		('buy', 'trade'),
		('sell', 'trade'),
		('force_buy', 'liquidation'),
		('force_sell', 'liquidation'),
		('burst_buy', 'liquidation'),
		('burst_sell', 'liquidation'),
		('bonus_issue', 'bonus'),
		('bonus_recycle', 'bonus'),
		('bonus_expired', 'bonus'),
		('delivery_long', 'delivery'),
		('delivery_short', 'delivery'),
		('trans_from_cross', 'transfer'),
		('trans_to_cross', 'transfer'),
		('trans_from_isolated', 'transfer'),
		('trans_to_isolated', 'transfer'),
		('trans_from_strategy', 'transfer'),
		('trans_to_strategy', 'transfer'),
		('risk_captital_user_transfer', 'liquidation'),
		('adl_close_long', 'liquidation'),
		('adl_close_short', 'liquidation'),
		('adl_buy_in_single_side_mode', 'liquidation'),
		('adl_sell_in_single_side_mode', 'liquidation'),
		('user_exchange_buy', 'conversion'),
		('user_exchange_sell', 'conversion'),
		('settle_interest', 'interest'),
		('user_grants_issue', 'bonus'),
		('user_grants_recycle', 'bonus'),
		('user_grid_profit_in', 'unknown')
)
UPDATE "business_types"
SET
	"listed_category" = coalesce("listed"."category", 'unknown'),
	"category_by_user" = nullif("business_types"."category", coalesce("listed"."category", 'unknown'))
FROM "business_types" AS "known"
LEFT JOIN "listed" USING ("code")
WHERE "known"."code" = "business_types"."code";
--> statement-breakpoint
-- A word that is no category counted as unmapped; it stays readable in the meaning.
UPDATE "business_types"
SET
	"meaning" = "meaning" || ' (was mapped to "' || "category" || '", which is no category)',
	"category_by_user" = NULL,
	"category" = "listed_category"
WHERE "category" NOT IN ('transfer', 'trade', 'liquidation', 'funding', 'margin', 'bonus', 'copy', 'delivery', 'interest', 'conversion', 'unknown');
--> statement-breakpoint
ALTER TABLE "business_types" ADD CONSTRAINT "business_types_category_is_known" CHECK ("business_types"."category" in ('transfer', 'trade', 'liquidation', 'funding', 'margin', 'bonus', 'copy', 'delivery', 'interest', 'conversion', 'unknown'));
--> statement-breakpoint
ALTER TABLE "business_types" ADD CONSTRAINT "business_types_category_is_by_user_or_listed" CHECK ("business_types"."category" = coalesce("business_types"."category_by_user", "business_types"."listed_category"));