ALTER TABLE "wallet_rules" ADD COLUMN "business_type" text COLLATE "C" DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "wallet_rules" DROP CONSTRAINT "wallet_rules_account_product_type_category_pk";--> statement-breakpoint
ALTER TABLE "wallet_rules" ADD CONSTRAINT "wallet_rules_account_product_type_category_business_type_pk" PRIMARY KEY("account","product_type","category","business_type");--> statement-breakpoint
ALTER TABLE "wallet_rules" DROP COLUMN "learned_at";--> statement-breakpoint
insert into "wallet_rules" (account, product_type, category, business_type, counts_amount, counts_fee, counts_coupon, is_testable, tested, fitting)
select account, product_type, category, business_type, counts_amount, counts_fee, counts_coupon, true, tested, fitting
from "wallet_type_rules"
join "business_types" on code = business_type
where category is not null;--> statement-breakpoint
-- The views read it. They are made anew after the migrations.
DROP TABLE "wallet_type_rules" CASCADE;
