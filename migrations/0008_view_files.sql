CREATE TABLE "analytics_views" (
	"name" text COLLATE "C" PRIMARY KEY NOT NULL,
	"hash" text NOT NULL
);

--> statement-breakpoint
-- Those that migrations made so far. From here on each is a file of src/sql/views.
INSERT INTO "analytics_views" ("name", "hash")
SELECT "name", ''
FROM unnest(ARRAY[
	'activity', 'coverage', 'daily_rollforward', 'monthly_rollforward', 'month_end_balances',
	'funding_by_symbol_day', 'fees_by_symbol_day', 'realised_pnl_by_symbol_day', 'liquidations',
	'transfers', 'bonuses', 'ltv_history', 'symbol_history', 'data_quality'
]) AS "made" ("name");
