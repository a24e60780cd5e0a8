-- The views that read what is dropped here and by the next migration. They are made anew after the migrations. Nothing
-- cascades: what others made of these views keeps a migration from dropping it.
drop view if exists
  public.rare_entries,
  public.chain_day_sums,
  public.chain_day_balances,
  public.chain_days,
  public.classic_activity,
  public.unified_activity,
  analytics.activity,
  analytics.daily_rollforward,
  analytics.monthly_rollforward,
  analytics.by_symbol_day,
  analytics.liquidations,
  analytics.transfers,
  analytics.transfers_between_accounts,
  analytics.bonuses,
  analytics.data_quality;--> statement-breakpoint
DROP TABLE "bill_order";--> statement-breakpoint
ALTER TABLE "day_ends" RENAME COLUMN "booked_at" TO "c_time";--> statement-breakpoint
ALTER TABLE "day_ends" DROP COLUMN "place";
