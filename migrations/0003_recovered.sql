ALTER TABLE "bill_revisions" ADD COLUMN "source" text;--> statement-breakpoint
ALTER TABLE "bills" ADD COLUMN "source" text;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "recovered" "tstzmultirange" DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "history" json;