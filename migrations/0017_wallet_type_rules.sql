CREATE TABLE "wallet_type_rules" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"business_type" text COLLATE "C" NOT NULL,
	"counts_amount" boolean NOT NULL,
	"counts_fee" boolean NOT NULL,
	"counts_coupon" boolean NOT NULL,
	"tested" bigint NOT NULL,
	"fitting" bigint NOT NULL,
	"learned_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "wallet_type_rules_account_product_type_business_type_pk" PRIMARY KEY("account","product_type","business_type")
);
--> statement-breakpoint
ALTER TABLE "ledger_breaks" ADD COLUMN "first_bad_product_type" text;--> statement-breakpoint
ALTER TABLE "ledger_breaks" ADD COLUMN "last_good_product_type" text;