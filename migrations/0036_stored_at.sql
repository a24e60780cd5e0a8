ALTER TABLE "streams" ADD COLUMN "stored_at" timestamp (3) with time zone;--> statement-breakpoint
UPDATE "streams"
SET "stored_at" = "newest"."ingested_at"
FROM (
  SELECT "account", "product_type", max("ingested_at") AS "ingested_at"
  FROM "bills"
  GROUP BY "account", "product_type"
) AS "newest"
WHERE "streams"."account" = "newest"."account"
  AND "streams"."product_type" = "newest"."product_type";
