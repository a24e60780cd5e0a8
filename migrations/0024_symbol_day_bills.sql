-- Days that were stored before are computed when they are read, until the next run has stored them anew.
INSERT INTO "dirty_days" ("account", "wallet", "day", "cause")
SELECT DISTINCT "account", "wallet", "day", 'bills'
FROM "symbol_days"
ON CONFLICT DO NOTHING;--> statement-breakpoint
DELETE FROM "symbol_days";--> statement-breakpoint
ALTER TABLE "symbol_days" ADD COLUMN "bills" bigint NOT NULL;
