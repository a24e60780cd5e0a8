CREATE TABLE "streams" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bills" bigint DEFAULT 0 NOT NULL,
	"covered" "tstzmultirange" DEFAULT '{}' NOT NULL,
	"lost" "tstzmultirange" DEFAULT '{}' NOT NULL,
	"open" "tstzmultirange" DEFAULT '{}' NOT NULL,
	"settled_to" timestamp (3) with time zone,
	"read_at" timestamp (3) with time zone,
	"lost_at" timestamp (3) with time zone,
	"told_at" timestamp (3) with time zone,
	CONSTRAINT "streams_account_product_type_pk" PRIMARY KEY("account","product_type")
);--> statement-breakpoint
INSERT INTO "streams" ("account", "product_type", "bills", "covered", "lost", "open", "settled_to", "read_at", "lost_at", "told_at")
SELECT
  "account", "product_type", coalesce("bills", 0), coalesce("covered", '{}'), coalesce("lost", '{}'), coalesce("open", '{}'),
  "settled_to", "read_at", "lost_at", "told_at"
FROM "stream_times"
FULL JOIN "bill_counts" USING ("account", "product_type");--> statement-breakpoint
DROP TABLE "bill_counts" CASCADE;--> statement-breakpoint
DROP TABLE "stream_times" CASCADE;
