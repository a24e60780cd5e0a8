ALTER TABLE "reconciled_chains" ADD COLUMN "unexplained" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
-- What bills of untestable types leave unexplained is found by a check of all bills.
UPDATE "reconciled_chains" SET "checked_before" = '-infinity';
