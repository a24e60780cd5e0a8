CREATE TABLE "accounts" (
	"account" text COLLATE "C" PRIMARY KEY NOT NULL,
	"product_types" text[],
	"demo" boolean NOT NULL,
	"ltv" boolean NOT NULL,
	"risk_unit_ids" text[],
	"added_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "stream_times" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"covered" "tstzmultirange" NOT NULL,
	"lost" "tstzmultirange" NOT NULL,
	"open" "tstzmultirange" NOT NULL,
	"settled_to" timestamp (3) with time zone,
	"read_at" timestamp (3) with time zone,
	"lost_at" timestamp (3) with time zone,
	"told_at" timestamp (3) with time zone,
	CONSTRAINT "stream_times_account_product_type_pk" PRIMARY KEY("account","product_type")
);
--> statement-breakpoint
ALTER TABLE "stream_states" ADD COLUMN "paused_at" timestamp (3) with time zone;--> statement-breakpoint
INSERT INTO "stream_times" ("account", "product_type", "covered", "lost", "open", "settled_to", "read_at", "lost_at", "told_at")
SELECT
	"account", "product_type", "covered", "lost", "open",
	least((SELECT min(upper("span")) FROM unnest("covered" + "lost") AS "span"), lower("open")),
	"read_at", "lost_at", "told_at"
FROM (
	SELECT
		"account",
		"product_type",
		coalesce(range_agg(tstzrange("window_start", "window_end")) FILTER (WHERE "state" = 'complete'), '{}') AS "covered",
		coalesce(range_agg(tstzrange("window_start", "window_end")) FILTER (WHERE "state" = 'expired'), '{}') AS "lost",
		coalesce(range_agg(tstzrange("window_start", "window_end")) FILTER (WHERE "state" = 'open'), '{}') AS "open",
		max("updated_at") FILTER (WHERE "state" = 'complete') AS "read_at",
		max("updated_at") FILTER (WHERE "state" = 'expired') AS "lost_at",
		max("started_at") AS "told_at"
	FROM "checkpoints"
	GROUP BY "account", "product_type"
) AS "grouped";
