CREATE TABLE "account_leases" (
	"account" text COLLATE "C" PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"epoch" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "bill_revisions" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bill_id" text COLLATE "C" NOT NULL,
	"revision" integer NOT NULL,
	"symbol" text,
	"amount" numeric NOT NULL,
	"fee" numeric NOT NULL,
	"fee_by_coupon" numeric,
	"business_type" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"balance" numeric,
	"c_time" timestamp (3) with time zone NOT NULL,
	"extra" json,
	"ingested_at" timestamp (3) with time zone NOT NULL,
	"replaced_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "bill_revisions_account_product_type_bill_id_revision_pk" PRIMARY KEY("account","product_type","bill_id","revision")
);
--> statement-breakpoint
CREATE TABLE "bills" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bill_id" text COLLATE "C" NOT NULL,
	"symbol" text,
	"amount" numeric NOT NULL,
	"fee" numeric NOT NULL,
	"fee_by_coupon" numeric,
	"business_type" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"balance" numeric,
	"c_time" timestamp (3) with time zone NOT NULL,
	"extra" json,
	"ingested_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "bills_account_product_type_bill_id_pk" PRIMARY KEY("account","product_type","bill_id"),
	CONSTRAINT "bills_amount_finite" CHECK ("bills"."amount" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_fee_finite" CHECK ("bills"."fee" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_fee_by_coupon_finite" CHECK ("bills"."fee_by_coupon" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_balance_finite" CHECK ("bills"."balance" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "business_types" (
	"code" text COLLATE "C" PRIMARY KEY NOT NULL,
	"category" text NOT NULL,
	"meaning" text NOT NULL,
	"documented" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "checkpoints" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"window_start" timestamp (3) with time zone NOT NULL,
	"window_end" timestamp (3) with time zone NOT NULL,
	"state" text NOT NULL,
	"cursor" text,
	"pages" integer DEFAULT 0 NOT NULL,
	"bills" bigint DEFAULT 0 NOT NULL,
	"run_id" uuid NOT NULL,
	"started_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "checkpoints_account_product_type_window_start_window_end_pk" PRIMARY KEY("account","product_type","window_start","window_end"),
	CONSTRAINT "checkpoints_state" CHECK ("checkpoints"."state" in ('open', 'complete', 'expired')),
	CONSTRAINT "checkpoints_window" CHECK ("checkpoints"."window_start" < "checkpoints"."window_end")
);
--> statement-breakpoint
CREATE TABLE "rejected_bills" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"digest" text COLLATE "C" NOT NULL,
	"received" text NOT NULL,
	"fault_path" text NOT NULL,
	"fault" text NOT NULL,
	"run_id" uuid NOT NULL,
	"rejected_at" timestamp (3) with time zone NOT NULL,
	"resolved_at" timestamp (3) with time zone,
	CONSTRAINT "rejected_bills_account_product_type_digest_pk" PRIMARY KEY("account","product_type","digest")
);
--> statement-breakpoint
CREATE TABLE "sync_runs" (
	"run_id" uuid PRIMARY KEY NOT NULL,
	"command" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"outcome" text NOT NULL,
	"counts" jsonb,
	"error" text
);
--> statement-breakpoint
CREATE INDEX "bills_time" ON "bills" USING btree ("account","product_type","c_time");