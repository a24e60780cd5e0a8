ALTER TABLE "ledger_breaks" RENAME COLUMN "signed_off_at" TO "accepted_at";--> statement-breakpoint
ALTER TABLE "ledger_breaks" RENAME COLUMN "signed_off_by" TO "accepted_by";--> statement-breakpoint
ALTER TABLE "reconciled_chains" RENAME COLUMN "product_type" TO "wallet";--> statement-breakpoint
ALTER TABLE "reconciled_chains" RENAME COLUMN "ingested_before" TO "checked_before";--> statement-breakpoint
ALTER TABLE "ledger_breaks" DROP CONSTRAINT "ledger_breaks_state";--> statement-breakpoint
ALTER TABLE "break_decisions" DROP CONSTRAINT "break_decisions_decision";--> statement-breakpoint
UPDATE "ledger_breaks" SET "state" = 'accepted' WHERE "state" = 'explained';--> statement-breakpoint
UPDATE "break_decisions" SET "decision" = 'accepted' WHERE "decision" = 'signed off';--> statement-breakpoint
ALTER TABLE "ledger_breaks" ADD CONSTRAINT "ledger_breaks_state" CHECK ("ledger_breaks"."state" in ('open', 'accepted', 'resolved'));--> statement-breakpoint
ALTER TABLE "break_decisions" ADD CONSTRAINT "break_decisions_decision" CHECK ("break_decisions"."decision" in ('accepted', 'reopened'));--> statement-breakpoint
ALTER TABLE "reconciled_chains" RENAME CONSTRAINT "reconciled_chains_account_product_type_coin_pk" TO "reconciled_chains_account_wallet_coin_pk";
