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
CREATE UNIQUE INDEX "symbol_versions_current" ON "symbol_versions" USING btree ("symbol") WHERE "symbol_versions"."valid_to" is null;