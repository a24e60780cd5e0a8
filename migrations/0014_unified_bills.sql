ALTER TABLE "bill_revisions" ADD COLUMN "position_type" text;--> statement-breakpoint
ALTER TABLE "bill_revisions" ADD COLUMN "position_amount" numeric;--> statement-breakpoint
ALTER TABLE "bill_revisions" ADD COLUMN "position_balance" numeric;--> statement-breakpoint
ALTER TABLE "bills" ADD COLUMN "position_type" text;--> statement-breakpoint
ALTER TABLE "bills" ADD COLUMN "position_amount" numeric;--> statement-breakpoint
ALTER TABLE "bills" ADD COLUMN "position_balance" numeric;--> statement-breakpoint
ALTER TABLE "bills" ADD CONSTRAINT "bills_position_amount_finite" CHECK ("bills"."position_amount" not in ('NaN', 'Infinity', '-Infinity'));--> statement-breakpoint
ALTER TABLE "bills" ADD CONSTRAINT "bills_position_balance_finite" CHECK ("bills"."position_balance" not in ('NaN', 'Infinity', '-Infinity'));