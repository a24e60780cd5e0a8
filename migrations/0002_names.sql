ALTER TABLE "business_types" DROP CONSTRAINT "business_types_category_is_known";--> statement-breakpoint
UPDATE "business_types" SET
	"category" = CASE "category" WHEN 'fees' THEN 'fee_bills' ELSE "category" END,
	"listed_category" = CASE "listed_category" WHEN 'fees' THEN 'fee_bills' ELSE "listed_category" END,
	"category_by_user" = CASE "category_by_user" WHEN 'fees' THEN 'fee_bills' ELSE "category_by_user" END;--> statement-breakpoint
ALTER TABLE "business_types" ADD CONSTRAINT "business_types_category_is_known" CHECK ("business_types"."category" in ('transfer', 'trade', 'liquidation', 'funding', 'margin', 'bonus', 'copy', 'delivery', 'interest', 'conversion', 'spot', 'loan', 'fee_bills', 'deposit', 'withdrawal', 'unknown'));--> statement-breakpoint
UPDATE "wallet_rules" SET "category" = 'fee_bills' WHERE "category" = 'fees';
