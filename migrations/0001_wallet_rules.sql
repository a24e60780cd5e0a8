CREATE TABLE "bill_order" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bill_id" text COLLATE "C" NOT NULL,
	"place" integer NOT NULL,
	CONSTRAINT "bill_order_account_product_type_bill_id_pk" PRIMARY KEY("account","product_type","bill_id")
);
--> statement-breakpoint
CREATE TABLE "wallet_rules" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"category" text COLLATE "C" NOT NULL,
	"counts_amount" boolean NOT NULL,
	"counts_fee" boolean NOT NULL,
	"counts_coupon" boolean NOT NULL,
	"tested" bigint NOT NULL,
	"fitting" bigint NOT NULL,
	"learned_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "wallet_rules_account_product_type_category_pk" PRIMARY KEY("account","product_type","category")
);
