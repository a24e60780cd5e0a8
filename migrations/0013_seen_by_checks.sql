ALTER TABLE "reconciled_chains" ADD COLUMN "stored_through" timestamp (3) with time zone DEFAULT '-infinity' NOT NULL;--> statement-breakpoint
-- As until now: what was stored before the check began was seen.
UPDATE "reconciled_chains" SET "stored_through" = "checked_before" - interval '1 millisecond' WHERE isfinite("checked_before");
