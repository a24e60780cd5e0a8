CREATE TABLE "stream_states" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"retired_at" timestamp (3) with time zone,
	CONSTRAINT "stream_states_account_product_type_pk" PRIMARY KEY("account","product_type")
);
