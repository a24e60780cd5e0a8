CREATE TABLE "check_days" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"check" text NOT NULL,
	"bills" bigint NOT NULL,
	"first_at" timestamp (3) with time zone NOT NULL,
	"last_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "check_days_account_product_type_day_check_pk" PRIMARY KEY("account","product_type","day","check")
);
--> statement-breakpoint
CREATE TABLE "dirty_days" (
	"account" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"cause" text NOT NULL,
	CONSTRAINT "dirty_days_account_wallet_day_cause_pk" PRIMARY KEY("account","wallet","day","cause"),
	CONSTRAINT "dirty_days_cause" CHECK ("dirty_days"."cause" in ('bills', 'meaning'))
);
--> statement-breakpoint
CREATE TABLE "ledger_days" (
	"account" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"bills" bigint NOT NULL,
	"net" numeric NOT NULL,
	"realised_pnl" numeric NOT NULL,
	"trading_fees" numeric NOT NULL,
	"fee_rebates" numeric NOT NULL,
	"funding_received" numeric NOT NULL,
	"funding_paid" numeric NOT NULL,
	"liquidation" numeric NOT NULL,
	"transfers_in" numeric NOT NULL,
	"transfers_out" numeric NOT NULL,
	"bonus" numeric NOT NULL,
	"copy" numeric NOT NULL,
	"delivery" numeric NOT NULL,
	"margin" numeric NOT NULL,
	"interest" numeric NOT NULL,
	"conversion" numeric NOT NULL,
	"spot" numeric NOT NULL,
	"loan" numeric NOT NULL,
	"fees" numeric NOT NULL,
	"unmapped" numeric NOT NULL,
	"opening" numeric,
	"lead_bills" bigint,
	"opened_at" timestamp (3) with time zone,
	"closing" numeric,
	"tail_bills" bigint,
	"rounding" numeric NOT NULL,
	"roundings" bigint NOT NULL,
	"rounded_first_at" timestamp (3) with time zone,
	"rounded_last_at" timestamp (3) with time zone,
	"difference" numeric NOT NULL,
	"differences" numeric[],
	"difference_times" timestamp (3) with time zone[],
	CONSTRAINT "ledger_days_account_wallet_coin_day_pk" PRIMARY KEY("account","wallet","coin","day")
);
--> statement-breakpoint
CREATE TABLE "symbol_days" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"wallet" text COLLATE "C" NOT NULL,
	"day" date NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"symbol" text NOT NULL,
	"fee_bills" bigint NOT NULL,
	"fees" numeric NOT NULL,
	"rebates" numeric NOT NULL,
	"paid_by_coupon" numeric NOT NULL,
	"funding_bills" bigint NOT NULL,
	"funding_received" numeric NOT NULL,
	"funding_paid" numeric NOT NULL,
	"profit_bills" bigint NOT NULL,
	"profit" numeric NOT NULL,
	"loss" numeric NOT NULL,
	CONSTRAINT "symbol_days_account_product_type_day_coin_symbol_pk" PRIMARY KEY("account","product_type","day","coin","symbol")
);
--> statement-breakpoint
-- Days that were stored before are computed when they are read, until the next run has stored them.
INSERT INTO "dirty_days" ("account", "wallet", "day", "cause")
SELECT DISTINCT
	"account",
	CASE WHEN "product_type" LIKE 'UTA-%' THEN 'UTA' ELSE "product_type" END,
	("c_time" AT TIME ZONE 'UTC')::date,
	'bills'
FROM "bills";
