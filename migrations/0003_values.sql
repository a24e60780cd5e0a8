ALTER TABLE "ltv_collateral" RENAME COLUMN "taken_at" TO "first_seen_at";--> statement-breakpoint
ALTER TABLE "ltv_collateral" RENAME CONSTRAINT "ltv_collateral_account_risk_unit_id_taken_at_coin_pk" TO "ltv_collateral_account_risk_unit_id_first_seen_at_coin_pk";--> statement-breakpoint
ALTER TABLE "ltv_debts" RENAME COLUMN "taken_at" TO "first_seen_at";--> statement-breakpoint
ALTER TABLE "ltv_debts" RENAME CONSTRAINT "ltv_debts_account_risk_unit_id_taken_at_coin_pk" TO "ltv_debts_account_risk_unit_id_first_seen_at_coin_pk";--> statement-breakpoint
ALTER TABLE "ltv_snapshots" RENAME COLUMN "taken_at" TO "first_seen_at";--> statement-breakpoint
ALTER TABLE "ltv_snapshots" RENAME CONSTRAINT "ltv_snapshots_account_risk_unit_id_taken_at_pk" TO "ltv_snapshots_account_risk_unit_id_first_seen_at_pk";--> statement-breakpoint
ALTER TABLE "wallet_balances" RENAME COLUMN "taken_at" TO "first_seen_at";--> statement-breakpoint
ALTER TABLE "wallet_balances" RENAME CONSTRAINT "wallet_balances_account_wallet_coin_taken_at_pk" TO "wallet_balances_account_wallet_coin_first_seen_at_pk";--> statement-breakpoint
ALTER TABLE "ltv_snapshots" RENAME COLUMN "held_until" TO "last_seen_at";--> statement-breakpoint
ALTER TABLE "wallet_balances" RENAME COLUMN "held_until" TO "last_seen_at";--> statement-breakpoint
ALTER TABLE "rejected_bills" RENAME COLUMN "fault_path" TO "path";--> statement-breakpoint
ALTER TABLE "rejected_bills" RENAME COLUMN "fault" TO "reason";--> statement-breakpoint
ALTER TABLE "business_types" DROP CONSTRAINT "business_types_category_is_known";--> statement-breakpoint
UPDATE "business_types" SET
	"category" = replace("category", 'fee_bills', 'fee-bills'),
	"listed_category" = replace("listed_category", 'fee_bills', 'fee-bills'),
	"category_by_user" = replace("category_by_user", 'fee_bills', 'fee-bills');--> statement-breakpoint
ALTER TABLE "business_types" ADD CONSTRAINT "business_types_category_is_known" CHECK ("category" in ('transfer', 'trade', 'liquidation', 'funding', 'margin', 'bonus', 'copy', 'delivery', 'interest', 'conversion', 'spot', 'loan', 'fee-bills', 'deposit', 'withdrawal', 'unclassified'));--> statement-breakpoint
UPDATE "wallet_rules" SET "category" = 'fee-bills' WHERE "category" = 'fee_bills';--> statement-breakpoint
ALTER TABLE "ledgers" RENAME COLUMN "first_gap_at" TO "first_unread_at";--> statement-breakpoint
ALTER TABLE "type_days" RENAME COLUMN "unshown" TO "without_balance";--> statement-breakpoint
ALTER INDEX "bills_unshown" RENAME TO "bills_without_balance";