CREATE TABLE "bill_order" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bill_id" text COLLATE "C" NOT NULL,
	"place" integer NOT NULL,
	CONSTRAINT "bill_order_account_product_type_bill_id_pk" PRIMARY KEY("account","product_type","bill_id")
);
--> statement-breakpoint
CREATE TABLE "ledger_breaks" (
	"break_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger_breaks_break_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"anchor" text COLLATE "C" NOT NULL,
	"happened_at" timestamp (3) with time zone,
	"expected" numeric,
	"observed" numeric,
	"difference" numeric,
	"first_bad_bill" text,
	"last_good_bill" text,
	"explanation" text NOT NULL,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"last_seen_at" timestamp (3) with time zone NOT NULL,
	"state" text NOT NULL,
	"note" text,
	"signed_off_at" timestamp (3) with time zone,
	"resolved_at" timestamp (3) with time zone,
	CONSTRAINT "ledger_breaks_identity" UNIQUE("account","product_type","coin","kind","anchor"),
	CONSTRAINT "ledger_breaks_state" CHECK ("ledger_breaks"."state" in ('open', 'explained', 'resolved'))
);
--> statement-breakpoint
CREATE TABLE "reconciled_chains" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"ingested_before" timestamp (3) with time zone NOT NULL,
	"tested" bigint NOT NULL,
	"rounded" bigint NOT NULL,
	CONSTRAINT "reconciled_chains_account_product_type_coin_pk" PRIMARY KEY("account","product_type","coin")
);
--> statement-breakpoint
CREATE TABLE "wallet_rules" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"category" text COLLATE "C" NOT NULL,
	"counts_amount" boolean NOT NULL,
	"counts_fee" boolean NOT NULL,
	"counts_coupon" boolean NOT NULL,
	"is_testable" boolean NOT NULL,
	"tested" bigint NOT NULL,
	"fitting" bigint NOT NULL,
	"learned_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "wallet_rules_account_product_type_category_pk" PRIMARY KEY("account","product_type","category")
);
