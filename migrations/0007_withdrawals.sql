CREATE TABLE "withdrawals" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"order_id" text COLLATE "C" NOT NULL,
	"coin" text NOT NULL,
	"size" numeric NOT NULL,
	"fee" numeric NOT NULL,
	"status" text NOT NULL,
	"transaction_id" text,
	"chain" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"bill_id" text COLLATE "C",
	"extra" json,
	CONSTRAINT "withdrawals_account_product_type_order_id_pk" PRIMARY KEY("account","product_type","order_id"),
	CONSTRAINT "withdrawals_bill" UNIQUE("account","product_type","bill_id"),
	CONSTRAINT "withdrawals_finite" CHECK ("withdrawals"."size" not in ('NaN', 'Infinity', '-Infinity') and "withdrawals"."fee" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
ALTER TABLE "ledgers" ADD COLUMN "withdrawals_refused_at" timestamp (3) with time zone;