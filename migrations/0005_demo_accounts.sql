-- The views name the column. They are made anew after the migrations.
drop view if exists
  analytics.entries,
  public.chain_day_sums,
  public.chain_day_balances,
  public.rare_entries,
  public.classic_activity,
  public.unified_activity,
  analytics.activity,
  analytics.time_states,
  analytics.daily_rollforward,
  analytics.monthly_rollforward,
  analytics.by_symbol_day,
  analytics.liquidations,
  analytics.transfers,
  analytics.transfers_between_accounts,
  analytics.bonuses,
  analytics.ltv_history,
  analytics.bill_contracts,
  analytics.data_quality,
  analytics.breaks,
  analytics.break_history;
--> statement-breakpoint
alter table ledgers drop column is_demo;
