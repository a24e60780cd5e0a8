CREATE TABLE "account_users" (
	"user_id" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"account" text COLLATE "C" NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "account_users_user_id_product_type_pk" PRIMARY KEY("user_id","product_type")
);
--> statement-breakpoint
CREATE TABLE "wallet_balances" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"coin" text COLLATE "C" NOT NULL,
	"taken_at" timestamp (3) with time zone NOT NULL,
	"held_until" timestamp (3) with time zone NOT NULL,
	"balance" numeric NOT NULL,
	"is_supposed" boolean NOT NULL,
	"expected" numeric,
	CONSTRAINT "wallet_balances_account_product_type_coin_taken_at_pk" PRIMARY KEY("account","product_type","coin","taken_at"),
	CONSTRAINT "wallet_balances_time" CHECK ("wallet_balances"."taken_at" <= "wallet_balances"."held_until"),
	CONSTRAINT "wallet_balances_finite" CHECK ("wallet_balances"."balance" not in ('NaN', 'Infinity', '-Infinity') and "wallet_balances"."expected" not in ('NaN', 'Infinity', '-Infinity'))
);
--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "balances_refused_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "account_users_account" ON "account_users" USING btree ("account");