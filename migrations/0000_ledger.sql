CREATE TABLE "account_keys" (
	"fingerprint" text COLLATE "C" PRIMARY KEY NOT NULL,
	"account" text COLLATE "C" NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "key_salt" (
	"is_only" boolean PRIMARY KEY NOT NULL,
	"salt" text NOT NULL,
	CONSTRAINT "key_salt_is_one_row" CHECK ("key_salt"."is_only")
);
--> statement-breakpoint
CREATE TABLE "ltv_collateral" (
	"account" text COLLATE "C" NOT NULL,
	"risk_unit_id" text COLLATE "C" NOT NULL,
	"taken_at" timestamp (3) with time zone NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"price" numeric,
	"amount" numeric,
	"converted_usdt_amount" numeric,
	"extra" json,
	CONSTRAINT "ltv_collateral_account_risk_unit_id_taken_at_coin_pk" PRIMARY KEY("account","risk_unit_id","taken_at","coin"),
	CONSTRAINT "ltv_collateral_finite" CHECK ("ltv_collateral"."price" not in ('NaN', 'Infinity', '-Infinity') and "ltv_collateral"."amount" not in ('NaN', 'Infinity', '-Infinity') and "ltv_collateral"."converted_usdt_amount" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "ltv_debts" (
	"account" text COLLATE "C" NOT NULL,
	"risk_unit_id" text COLLATE "C" NOT NULL,
	"taken_at" timestamp (3) with time zone NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"unpaid_qty" numeric,
	"unpaid_interest" numeric,
	"extra" json,
	CONSTRAINT "ltv_debts_account_risk_unit_id_taken_at_coin_pk" PRIMARY KEY("account","risk_unit_id","taken_at","coin"),
	CONSTRAINT "ltv_debts_finite" CHECK ("ltv_debts"."unpaid_qty" not in ('NaN', 'Infinity', '-Infinity') and "ltv_debts"."unpaid_interest" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "ltv_snapshots" (
	"account" text COLLATE "C" NOT NULL,
	"risk_unit_id" text COLLATE "C" NOT NULL,
	"taken_at" timestamp (3) with time zone NOT NULL,
	"held_until" timestamp (3) with time zone NOT NULL,
	"ltv" numeric,
	"sub_account_uids" text[],
	"usdt_balance" numeric,
	"unpaid_usdt_amount" numeric,
	"extra" json,
	CONSTRAINT "ltv_snapshots_account_risk_unit_id_taken_at_pk" PRIMARY KEY("account","risk_unit_id","taken_at"),
	CONSTRAINT "ltv_snapshots_time" CHECK ("ltv_snapshots"."taken_at" <= "ltv_snapshots"."held_until"),
	CONSTRAINT "ltv_snapshots_finite" CHECK ("ltv_snapshots"."ltv" not in ('NaN', 'Infinity', '-Infinity') and "ltv_snapshots"."usdt_balance" not in ('NaN', 'Infinity', '-Infinity') and "ltv_snapshots"."unpaid_usdt_amount" not in ('NaN', 'Infinity', '-Infinity'))
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
CREATE TABLE "symbol_lists" (
	"market" text COLLATE "C" PRIMARY KEY NOT NULL,
	"read_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "symbol_versions" (
	"symbol" text COLLATE "C" NOT NULL,
	"valid_from" timestamp (3) with time zone NOT NULL,
	"valid_to" timestamp (3) with time zone,
	"base_coin" text,
	"quote_coin" text,
	"min_trade_amount" numeric,
	"max_trade_amount" numeric,
	"taker_fee_rate" numeric,
	"maker_fee_rate" numeric,
	"price_precision" numeric,
	"quantity_precision" numeric,
	"quote_precision" numeric,
	"min_trade_usdt" numeric,
	"status" text,
	"buy_limit_price_ratio" numeric,
	"sell_limit_price_ratio" numeric,
	"area_symbol" text,
	"order_quantity" numeric,
	"open_time" timestamp (3) with time zone,
	"off_time" timestamp (3) with time zone,
	"extra" json,
	CONSTRAINT "symbol_versions_symbol_valid_from_pk" PRIMARY KEY("symbol","valid_from"),
	CONSTRAINT "symbol_versions_time" CHECK ("symbol_versions"."valid_from" < "symbol_versions"."valid_to"),
	CONSTRAINT "symbol_versions_finite" CHECK ("symbol_versions"."min_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."max_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."taker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."maker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."price_precision" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."quantity_precision" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."quote_precision" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."min_trade_usdt" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."buy_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."sell_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "symbol_versions"."order_quantity" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "symbols" (
	"symbol" text COLLATE "C" PRIMARY KEY NOT NULL,
	"base_coin" text,
	"quote_coin" text,
	"min_trade_amount" numeric,
	"max_trade_amount" numeric,
	"taker_fee_rate" numeric,
	"maker_fee_rate" numeric,
	"price_precision" numeric,
	"quantity_precision" numeric,
	"quote_precision" numeric,
	"min_trade_usdt" numeric,
	"status" text,
	"buy_limit_price_ratio" numeric,
	"sell_limit_price_ratio" numeric,
	"area_symbol" text,
	"order_quantity" numeric,
	"open_time" timestamp (3) with time zone,
	"off_time" timestamp (3) with time zone,
	"extra" json,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"valid_from" timestamp (3) with time zone NOT NULL,
	"gone_at" timestamp (3) with time zone,
	CONSTRAINT "symbols_finite" CHECK ("symbols"."min_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."max_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."taker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."maker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."price_precision" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."quantity_precision" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."quote_precision" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."min_trade_usdt" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."buy_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."sell_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "symbols"."order_quantity" not in ('NaN', 'Infinity', '-Infinity'))
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
CREATE INDEX "bills_time" ON "bills" USING btree ("account","product_type","c_time");--> statement-breakpoint
CREATE UNIQUE INDEX "symbol_versions_current" ON "symbol_versions" USING btree ("symbol") WHERE "symbol_versions"."valid_to" is null;--> statement-breakpoint
CREATE INDEX "sync_runs_time" ON "sync_runs" USING btree ("started_at");