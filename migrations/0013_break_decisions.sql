CREATE TABLE "break_decisions" (
	"account" text COLLATE "C" NOT NULL,
	"break_id" bigint NOT NULL,
	"place" integer NOT NULL,
	"decision" text NOT NULL,
	"decided_at" timestamp (3) with time zone NOT NULL,
	"decided_by" text,
	"note" text,
	"difference" numeric,
	CONSTRAINT "break_decisions_account_break_id_place_pk" PRIMARY KEY("account","break_id","place"),
	CONSTRAINT "break_decisions_decision" CHECK ("break_decisions"."decision" in ('signed off', 'reopened'))
);
--> statement-breakpoint
ALTER TABLE "ledger_breaks" DROP CONSTRAINT "ledger_breaks_pkey";--> statement-breakpoint
ALTER TABLE "ledger_breaks" ALTER COLUMN "break_id" DROP IDENTITY;--> statement-breakpoint
ALTER TABLE "ledger_breaks" ADD CONSTRAINT "ledger_breaks_account_break_id_pk" PRIMARY KEY("account","break_id");--> statement-breakpoint
ALTER TABLE "ledger_breaks" ADD COLUMN "signed_off_by" text;--> statement-breakpoint
-- What was signed off so far begins the history.
INSERT INTO "break_decisions" ("account", "break_id", "place", "decision", "decided_at", "note", "difference")
SELECT "account", "break_id", 1, 'signed off', "signed_off_at", "note", "difference"
FROM "ledger_breaks"
WHERE "signed_off_at" IS NOT NULL;
