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
INSERT INTO "windows" ("account", "product_type", "window_start", "window_end", "cursor", "started_at")
SELECT "account", "product_type", "window_start", "window_end", "cursor", "started_at"
FROM "checkpoints"
WHERE "state" = 'open';--> statement-breakpoint
ALTER TABLE "reconciled_chains" ADD COLUMN "covered" "tstzmultirange" DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "covered_before" "tstzmultirange" DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "planned_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "planned_clock" timestamp (3) with time zone;--> statement-breakpoint
INSERT INTO "streams" ("account", "product_type", "covered", "lost", "open", "covered_before", "settled_to", "planned_at", "planned_clock")
SELECT
  "account", "product_type", "covered", "lost", "open", "covered_before",
  lower(tstzmultirange(tstzrange(lower("covered" + "lost" + "open"), NULL)) - ("covered" + "lost")),
  "planned_at", "planned_clock"
FROM (
  SELECT
    "checkpoints"."account", "checkpoints"."product_type",
    coalesce(range_agg("span") FILTER (WHERE "state" = 'complete'), '{}') AS "covered",
    coalesce(range_agg("span") FILTER (WHERE "state" = 'expired'), '{}') AS "lost",
    coalesce(range_agg("span") FILTER (WHERE "state" = 'open'), '{}') AS "open",
    coalesce(range_agg("span") FILTER (WHERE "state" = 'complete' AND "updated_at" < "unproven_since"), '{}') AS "covered_before",
    max("started_at") AS "planned_at",
    max("started_at") + min("updated_at" - "started_at") AS "planned_clock"
  FROM (SELECT *, tstzrange("window_start", "window_end") AS "span" FROM "checkpoints") AS "checkpoints"
  LEFT JOIN "stream_states" ON "stream_states"."account" = "checkpoints"."account" AND "stream_states"."product_type" = ''
  GROUP BY "checkpoints"."account", "checkpoints"."product_type"
) AS "known"
ON CONFLICT ("account", "product_type") DO UPDATE SET
  "covered" = excluded."covered", "lost" = excluded."lost", "open" = excluded."open",
  "covered_before" = excluded."covered_before", "settled_to" = excluded."settled_to",
  "planned_at" = excluded."planned_at", "planned_clock" = excluded."planned_clock";--> statement-breakpoint
DROP TABLE "checkpoints" CASCADE;--> statement-breakpoint
ALTER TABLE "streams" DROP COLUMN "told_at";
