CREATE TABLE "account_keys" (
	"fingerprint" text COLLATE "C" PRIMARY KEY NOT NULL,
	"account" text COLLATE "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "account_users" (
	"user_id" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"account" text COLLATE "C" NOT NULL,
	CONSTRAINT "account_users_user_id_product_type_pk" PRIMARY KEY("user_id","product_type")
);
--> statement-breakpoint
CREATE TABLE "added_accounts" (
	"account" text COLLATE "C" PRIMARY KEY NOT NULL,
	"product_types" text[],
	"demo" boolean NOT NULL,
	"ltv" boolean NOT NULL,
	"risk_unit_ids" text[]
);
--> statement-breakpoint
CREATE TABLE "key_salt" (
	"is_only" boolean PRIMARY KEY NOT NULL,
	"salt" text NOT NULL,
	CONSTRAINT "key_salt_is_one_row" CHECK ("key_salt"."is_only")
);
--> statement-breakpoint
CREATE TABLE "leases" (
	"account" text COLLATE "C" PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"epoch" bigint NOT NULL,
	"taken_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"uid" text,
	CONSTRAINT "leases_epoch" UNIQUE("account","epoch")
);
--> statement-breakpoint
CREATE TABLE "day_ends" (
	"account" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"is_last" boolean NOT NULL,
	"booked_at" timestamp (3) with time zone NOT NULL,
	"place" integer NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bill_id" text COLLATE "C" NOT NULL,
	"balance" numeric NOT NULL,
	CONSTRAINT "day_ends_account_wallet_coin_day_is_last_pk" PRIMARY KEY("account","wallet","coin","day","is_last")
);
--> statement-breakpoint
CREATE TABLE "symbol_days" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"symbol" text COLLATE "C" NOT NULL,
	"business_type" text COLLATE "C" NOT NULL,
	"bills" bigint NOT NULL,
	"amount_in" numeric NOT NULL,
	"amount_out" numeric NOT NULL,
	"gross_in" numeric NOT NULL,
	"gross_out" numeric NOT NULL,
	"fee_in" numeric NOT NULL,
	"fee_out" numeric NOT NULL,
	"coupon" numeric NOT NULL,
	CONSTRAINT "symbol_days_pk" PRIMARY KEY("account","product_type","day","coin","symbol","business_type")
);
--> statement-breakpoint
CREATE TABLE "type_days" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"business_type" text COLLATE "C" NOT NULL,
	"bills" bigint NOT NULL,
	"amount_in" numeric NOT NULL,
	"amount_out" numeric NOT NULL,
	"gross_in" numeric NOT NULL,
	"gross_out" numeric NOT NULL,
	"fee_in" numeric NOT NULL,
	"fee_out" numeric NOT NULL,
	"coupon" numeric NOT NULL,
	"without_balance" bigint NOT NULL,
	"with_extra" bigint NOT NULL,
	"odd_ids" bigint NOT NULL,
	CONSTRAINT "type_days_account_product_type_coin_day_business_type_pk" PRIMARY KEY("account","product_type","coin","day","business_type")
);
--> statement-breakpoint
CREATE TABLE "bill_order" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bill_id" text COLLATE "C" NOT NULL,
	"place" integer NOT NULL,
	"booked_at" timestamp (3) with time zone,
	CONSTRAINT "bill_order_account_product_type_bill_id_pk" PRIMARY KEY("account","product_type","bill_id")
);
--> statement-breakpoint
CREATE TABLE "break_decisions" (
	"account" text COLLATE "C" NOT NULL,
	"break_id" bigint NOT NULL,
	"place" integer NOT NULL,
	"decision" text NOT NULL,
	"decided_at" timestamp (3) with time zone NOT NULL,
	"decided_by" text,
	"note" text,
	"difference" numeric,
	CONSTRAINT "break_decisions_account_break_id_place_pk" PRIMARY KEY("account","break_id","place"),
	CONSTRAINT "break_decisions_decision" CHECK ("break_decisions"."decision" in ('accepted', 'reopened'))
);
--> statement-breakpoint
CREATE TABLE "ledger_breaks" (
	"break_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"account" text COLLATE "C" NOT NULL,
	"ledger" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"anchor" text COLLATE "C" NOT NULL,
	"happened_at" timestamp (3) with time zone,
	"expected" numeric,
	"observed" numeric,
	"difference" numeric,
	"first_bad_bill" text,
	"last_good_bill" text,
	"first_bad_product_type" text,
	"last_good_product_type" text,
	"explanation" text NOT NULL,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"last_seen_at" timestamp (3) with time zone NOT NULL,
	"state" text NOT NULL,
	"note" text,
	"accepted_at" timestamp (3) with time zone,
	"resolved_at" timestamp (3) with time zone,
	"accepted_by" text,
	"repair_failed_at" timestamp (3) with time zone,
	CONSTRAINT "ledger_breaks_account_break_id_pk" PRIMARY KEY("account","break_id"),
	CONSTRAINT "ledger_breaks_identity" UNIQUE("account","ledger","coin","kind","anchor"),
	CONSTRAINT "ledger_breaks_state" CHECK ("ledger_breaks"."state" in ('open', 'accepted', 'resolved'))
);
--> statement-breakpoint
CREATE TABLE "reconciled_chains" (
	"account" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"checked_before" timestamp (3) with time zone NOT NULL,
	"unjudged_from" timestamp (3) with time zone,
	"checkpoint" timestamp (3) with time zone,
	"tested" bigint NOT NULL,
	"rounded" bigint NOT NULL,
	"reconciled_at" timestamp (3) with time zone,
	"reconciled_through" timestamp (3) with time zone,
	"covered" "tstzmultirange" DEFAULT '{}' NOT NULL,
	CONSTRAINT "reconciled_chains_account_wallet_coin_pk" PRIMARY KEY("account","wallet","coin")
);
--> statement-breakpoint
CREATE TABLE "wallet_rules" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"category" text COLLATE "C" NOT NULL,
	"business_type" text COLLATE "C" DEFAULT '' NOT NULL,
	"counts_amount" boolean NOT NULL,
	"counts_fee" boolean NOT NULL,
	"counts_coupon" boolean NOT NULL,
	"is_testable" boolean NOT NULL,
	"tested" bigint NOT NULL,
	"fitting" bigint NOT NULL,
	CONSTRAINT "wallet_rules_account_product_type_category_business_type_pk" PRIMARY KEY("account","product_type","category","business_type")
);
--> statement-breakpoint
CREATE TABLE "contract_versions" (
	"product_type" text COLLATE "C" NOT NULL,
	"symbol" text COLLATE "C" NOT NULL,
	"valid_from" timestamp (3) with time zone NOT NULL,
	"valid_to" timestamp (3) with time zone,
	"base_coin" text,
	"quote_coin" text,
	"buy_limit_price_ratio" numeric,
	"sell_limit_price_ratio" numeric,
	"fee_rate_up_ratio" numeric,
	"maker_fee_rate" numeric,
	"taker_fee_rate" numeric,
	"open_cost_up_ratio" numeric,
	"support_margin_coins" jsonb,
	"min_trade_num" numeric,
	"price_end_step" numeric,
	"volume_place" numeric,
	"price_place" numeric,
	"size_multiplier" numeric,
	"symbol_type" text,
	"min_trade_usdt" numeric,
	"max_symbol_order_num" numeric,
	"max_product_order_num" numeric,
	"max_position_num" numeric,
	"symbol_status" text,
	"off_time" timestamp (3) with time zone,
	"limit_open_time" timestamp (3) with time zone,
	"delivery_time" timestamp (3) with time zone,
	"delivery_start_time" timestamp (3) with time zone,
	"delivery_period" text,
	"launch_time" timestamp (3) with time zone,
	"fund_interval" numeric,
	"min_lever" numeric,
	"max_lever" numeric,
	"pos_limit" numeric,
	"maintain_time" timestamp (3) with time zone,
	"open_time" timestamp (3) with time zone,
	"max_market_order_qty" numeric,
	"max_order_qty" numeric,
	"extra" json,
	CONSTRAINT "contract_versions_product_type_symbol_valid_from_pk" PRIMARY KEY("product_type","symbol","valid_from"),
	CONSTRAINT "contract_versions_time" CHECK ("contract_versions"."valid_from" < "contract_versions"."valid_to"),
	CONSTRAINT "contract_versions_finite" CHECK ("contract_versions"."buy_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."sell_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."fee_rate_up_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."maker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."taker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."open_cost_up_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."min_trade_num" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."price_end_step" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."volume_place" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."price_place" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."size_multiplier" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."min_trade_usdt" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."max_symbol_order_num" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."max_product_order_num" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."max_position_num" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."fund_interval" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."min_lever" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."max_lever" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."pos_limit" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."max_market_order_qty" not in ('NaN', 'Infinity', '-Infinity') and "contract_versions"."max_order_qty" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "contracts" (
	"product_type" text COLLATE "C" NOT NULL,
	"symbol" text COLLATE "C" NOT NULL,
	"base_coin" text,
	"quote_coin" text,
	"buy_limit_price_ratio" numeric,
	"sell_limit_price_ratio" numeric,
	"fee_rate_up_ratio" numeric,
	"maker_fee_rate" numeric,
	"taker_fee_rate" numeric,
	"open_cost_up_ratio" numeric,
	"support_margin_coins" jsonb,
	"min_trade_num" numeric,
	"price_end_step" numeric,
	"volume_place" numeric,
	"price_place" numeric,
	"size_multiplier" numeric,
	"symbol_type" text,
	"min_trade_usdt" numeric,
	"max_symbol_order_num" numeric,
	"max_product_order_num" numeric,
	"max_position_num" numeric,
	"symbol_status" text,
	"off_time" timestamp (3) with time zone,
	"limit_open_time" timestamp (3) with time zone,
	"delivery_time" timestamp (3) with time zone,
	"delivery_start_time" timestamp (3) with time zone,
	"delivery_period" text,
	"launch_time" timestamp (3) with time zone,
	"fund_interval" numeric,
	"min_lever" numeric,
	"max_lever" numeric,
	"pos_limit" numeric,
	"maintain_time" timestamp (3) with time zone,
	"open_time" timestamp (3) with time zone,
	"max_market_order_qty" numeric,
	"max_order_qty" numeric,
	"extra" json,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"valid_from" timestamp (3) with time zone NOT NULL,
	"gone_at" timestamp (3) with time zone,
	CONSTRAINT "contracts_product_type_symbol_pk" PRIMARY KEY("product_type","symbol"),
	CONSTRAINT "contracts_finite" CHECK ("contracts"."buy_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."sell_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."fee_rate_up_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."maker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."taker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."open_cost_up_ratio" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."min_trade_num" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."price_end_step" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."volume_place" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."price_place" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."size_multiplier" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."min_trade_usdt" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."max_symbol_order_num" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."max_product_order_num" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."max_position_num" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."fund_interval" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."min_lever" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."max_lever" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."pos_limit" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."max_market_order_qty" not in ('NaN', 'Infinity', '-Infinity') and "contracts"."max_order_qty" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "instrument_lists" (
	"market" text COLLATE "C" PRIMARY KEY NOT NULL,
	"read_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ltv_collateral" (
	"account" text COLLATE "C" NOT NULL,
	"risk_unit_id" text COLLATE "C" NOT NULL,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"price" numeric,
	"amount" numeric,
	"converted_usdt_amount" numeric,
	"extra" json,
	CONSTRAINT "ltv_collateral_account_risk_unit_id_first_seen_at_coin_pk" PRIMARY KEY("account","risk_unit_id","first_seen_at","coin"),
	CONSTRAINT "ltv_collateral_finite" CHECK ("ltv_collateral"."price" not in ('NaN', 'Infinity', '-Infinity') and "ltv_collateral"."amount" not in ('NaN', 'Infinity', '-Infinity') and "ltv_collateral"."converted_usdt_amount" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "ltv_debts" (
	"account" text COLLATE "C" NOT NULL,
	"risk_unit_id" text COLLATE "C" NOT NULL,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"unpaid_qty" numeric,
	"unpaid_interest" numeric,
	"extra" json,
	CONSTRAINT "ltv_debts_account_risk_unit_id_first_seen_at_coin_pk" PRIMARY KEY("account","risk_unit_id","first_seen_at","coin"),
	CONSTRAINT "ltv_debts_finite" CHECK ("ltv_debts"."unpaid_qty" not in ('NaN', 'Infinity', '-Infinity') and "ltv_debts"."unpaid_interest" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "ltv_snapshots" (
	"account" text COLLATE "C" NOT NULL,
	"risk_unit_id" text COLLATE "C" NOT NULL,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"last_seen_at" timestamp (3) with time zone NOT NULL,
	"ltv" numeric,
	"sub_account_uids" text[],
	"usdt_balance" numeric,
	"unpaid_usdt_amount" numeric,
	"extra" json,
	CONSTRAINT "ltv_snapshots_account_risk_unit_id_first_seen_at_pk" PRIMARY KEY("account","risk_unit_id","first_seen_at"),
	CONSTRAINT "ltv_snapshots_time" CHECK ("ltv_snapshots"."first_seen_at" <= "ltv_snapshots"."last_seen_at"),
	CONSTRAINT "ltv_snapshots_finite" CHECK ("ltv_snapshots"."ltv" not in ('NaN', 'Infinity', '-Infinity') and "ltv_snapshots"."usdt_balance" not in ('NaN', 'Infinity', '-Infinity') and "ltv_snapshots"."unpaid_usdt_amount" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "spot_pair_versions" (
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
	CONSTRAINT "spot_pair_versions_symbol_valid_from_pk" PRIMARY KEY("symbol","valid_from"),
	CONSTRAINT "spot_pair_versions_time" CHECK ("spot_pair_versions"."valid_from" < "spot_pair_versions"."valid_to"),
	CONSTRAINT "spot_pair_versions_finite" CHECK ("spot_pair_versions"."min_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."max_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."taker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."maker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."price_precision" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."quantity_precision" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."quote_precision" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."min_trade_usdt" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."buy_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."sell_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "spot_pair_versions"."order_quantity" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "spot_pairs" (
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
	CONSTRAINT "spot_pairs_finite" CHECK ("spot_pairs"."min_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."max_trade_amount" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."taker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."maker_fee_rate" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."price_precision" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."quantity_precision" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."quote_precision" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."min_trade_usdt" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."buy_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."sell_limit_price_ratio" not in ('NaN', 'Infinity', '-Infinity') and "spot_pairs"."order_quantity" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "wallet_balances" (
	"account" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"first_seen_at" timestamp (3) with time zone NOT NULL,
	"last_seen_at" timestamp (3) with time zone NOT NULL,
	"balance" numeric NOT NULL,
	"may_differ" boolean NOT NULL,
	"expected" numeric,
	CONSTRAINT "wallet_balances_account_wallet_coin_first_seen_at_pk" PRIMARY KEY("account","wallet","coin","first_seen_at"),
	CONSTRAINT "wallet_balances_time" CHECK ("wallet_balances"."first_seen_at" <= "wallet_balances"."last_seen_at"),
	CONSTRAINT "wallet_balances_finite" CHECK ("wallet_balances"."balance" not in ('NaN', 'Infinity', '-Infinity') and "wallet_balances"."expected" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "analytics_views" (
	"name" text COLLATE "C" PRIMARY KEY NOT NULL,
	"hash" text NOT NULL
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
	"position_type" text,
	"position_amount" numeric,
	"position_balance" numeric,
	"extra" json,
	"source" text,
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
	"position_type" text,
	"position_amount" numeric,
	"position_balance" numeric,
	"extra" json,
	"source" text,
	"ingested_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "bills_account_product_type_bill_id_pk" PRIMARY KEY("account","product_type","bill_id"),
	CONSTRAINT "bills_amount_finite" CHECK ("bills"."amount" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_fee_finite" CHECK ("bills"."fee" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_fee_by_coupon_finite" CHECK ("bills"."fee_by_coupon" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_balance_finite" CHECK ("bills"."balance" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_position_amount_finite" CHECK ("bills"."position_amount" not in ('NaN', 'Infinity', '-Infinity')),
	CONSTRAINT "bills_position_balance_finite" CHECK ("bills"."position_balance" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
CREATE TABLE "business_types" (
	"code" text COLLATE "C" PRIMARY KEY NOT NULL,
	"category" text NOT NULL,
	"meaning" text NOT NULL,
	"documented" boolean NOT NULL,
	"listed_category" text DEFAULT 'unclassified' NOT NULL,
	"category_by_user" text,
	CONSTRAINT "business_types_category_is_known" CHECK ("business_types"."category" in ('transfer', 'trade', 'liquidation', 'funding', 'margin', 'bonus', 'copy', 'delivery', 'interest', 'conversion', 'spot', 'loan', 'fee-bills', 'deposit', 'withdrawal', 'unclassified')),
	CONSTRAINT "business_types_category_is_by_user_or_listed" CHECK ("business_types"."category" = coalesce("business_types"."category_by_user", "business_types"."listed_category"))
);
--> statement-breakpoint
CREATE TABLE "ledgers" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bills" bigint DEFAULT 0 NOT NULL,
	"covered" "tstzmultirange" DEFAULT '{}' NOT NULL,
	"lost" "tstzmultirange" DEFAULT '{}' NOT NULL,
	"recovered" "tstzmultirange" DEFAULT '{}' NOT NULL,
	"tax_comparison" json,
	"open" "tstzmultirange" DEFAULT '{}' NOT NULL,
	"first_unread_at" timestamp (3) with time zone,
	"planned_at" timestamp (3) with time zone,
	"planned_clock" timestamp (3) with time zone,
	"stored_at" timestamp (3) with time zone,
	"retired_at" timestamp (3) with time zone,
	"closed_at" timestamp (3) with time zone,
	"not_available_since" timestamp (3) with time zone,
	"not_available_asked_at" timestamp (3) with time zone,
	"not_available_reason" text,
	"paused_at" timestamp (3) with time zone,
	"is_demo" boolean DEFAULT false NOT NULL,
	"mode" text,
	"mode_since" timestamp (3) with time zone,
	"balances_refused_at" timestamp (3) with time zone,
	CONSTRAINT "ledgers_account_product_type_pk" PRIMARY KEY("account","product_type"),
	CONSTRAINT "ledgers_mode" CHECK ("ledgers"."mode" in ('classic', 'unified'))
);
--> statement-breakpoint
CREATE TABLE "rejected_bills" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"digest" text COLLATE "C" NOT NULL,
	"received" text NOT NULL,
	"path" text NOT NULL,
	"reason" text NOT NULL,
	"rejected_at" timestamp (3) with time zone NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"note" text,
	"accepted_by" text,
	"bill_id" text COLLATE "C",
	"superseded_at" timestamp (3) with time zone,
	"source" text,
	CONSTRAINT "rejected_bills_account_product_type_digest_pk" PRIMARY KEY("account","product_type","digest")
);
--> statement-breakpoint
CREATE TABLE "runs" (
	"run_id" uuid PRIMARY KEY NOT NULL,
	"command" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"outcome" text NOT NULL,
	"counts" jsonb,
	"error" text
);
--> statement-breakpoint
CREATE TABLE "windows" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"window_start" timestamp (3) with time zone NOT NULL,
	"window_end" timestamp (3) with time zone NOT NULL,
	"cursor" text,
	"started_at" timestamp (3) with time zone,
	CONSTRAINT "windows_account_product_type_window_start_window_end_pk" PRIMARY KEY("account","product_type","window_start","window_end"),
	CONSTRAINT "windows_window" CHECK ("windows"."window_start" < "windows"."window_end")
);
--> statement-breakpoint
CREATE INDEX "account_users_account" ON "account_users" USING btree ("account");--> statement-breakpoint
CREATE INDEX "leases_held" ON "leases" USING btree ("holder") WHERE "leases"."holder" <> '';--> statement-breakpoint
CREATE UNIQUE INDEX "contract_versions_current" ON "contract_versions" USING btree ("product_type","symbol") WHERE "contract_versions"."valid_to" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "spot_pair_versions_current" ON "spot_pair_versions" USING btree ("symbol") WHERE "spot_pair_versions"."valid_to" is null;--> statement-breakpoint
CREATE INDEX "bills_time" ON "bills" USING btree ("account","product_type","c_time");--> statement-breakpoint
CREATE INDEX "bills_rare" ON "bills" USING btree ("account","product_type","c_time") WHERE "bills"."business_type" <> all (array['open_long', 'open_short', 'close_long', 'close_short', 'buy', 'sell', 'contract_settle_fee', 'OPEN_LONG', 'OPEN_SHORT', 'CLOSE_LONG', 'CLOSE_SHORT', 'BUY_DEAL', 'SELL_DEAL', 'CONTRACT_MAIN_SETTLE_FEE_USER_IN', 'CONTRACT_MAIN_SETTLE_FEE_USER_OUT', 'ORDER_DEALT_IN', 'ORDER_DEALT_FROZEN_OUT']);--> statement-breakpoint
CREATE INDEX "bills_without_balance" ON "bills" USING btree ("account","product_type","c_time") WHERE "bills"."balance" is null;--> statement-breakpoint
CREATE INDEX "bills_ingested" ON "bills" USING brin ("ingested_at") WITH (autosummarize=true);--> statement-breakpoint
CREATE INDEX "rejected_bills_current" ON "rejected_bills" USING btree ("account","product_type","bill_id") WHERE "rejected_bills"."closed_at" is null and "rejected_bills"."superseded_at" is null;--> statement-breakpoint
CREATE INDEX "runs_time" ON "runs" USING btree ("started_at");--> statement-breakpoint
CREATE INDEX "runs_last" ON "runs" USING btree ("command","outcome","started_at");--> statement-breakpoint
CREATE SEQUENCE "ledger_break_ids";--> statement-breakpoint
CREATE SCHEMA IF NOT EXISTS "analytics";
