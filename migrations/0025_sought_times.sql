-- Days that were stored before are computed when they are read, until the next run has stored them anew.
INSERT INTO "dirty_days" ("account", "wallet", "day", "cause")
SELECT DISTINCT "account", "wallet", "day", 'bills'
FROM "ledger_days"
ON CONFLICT DO NOTHING;--> statement-breakpoint
ALTER TABLE "ledger_days" ADD COLUMN "sought_times" timestamp (3) with time zone[];
