-- The views read the tables that go. They are made anew after the migrations.
DROP VIEW IF EXISTS
  analytics.entries,
  analytics.activity,
  analytics.coverage,
  analytics.daily_rollforward,
  analytics.monthly_rollforward,
  analytics.month_end_balances,
  analytics.funding_by_symbol_day,
  analytics.fees_by_symbol_day,
  analytics.realised_pnl_by_symbol_day,
  analytics.liquidations,
  analytics.transfers,
  analytics.bonuses,
  analytics.ltv_history,
  analytics.symbol_history,
  analytics.contract_history,
  analytics.bill_contracts,
  analytics.data_quality,
  analytics.breaks,
  analytics.break_history,
  public.current_ledger_days,
  public.current_symbol_days,
  public.current_check_days,
  public.known_days,
  public.sought_spans,
  public.chained_days,
  public.classic_activity,
  public.unified_activity,
  public.classic_entries,
  public.unified_entries,
  public.known_entries;
--> statement-breakpoint
DROP TABLE "check_days", "dirty_days", "ledger_days", "symbol_days";
--> statement-breakpoint
ALTER TABLE "symbol_type_days" RENAME TO "symbol_days";
--> statement-breakpoint
ALTER TABLE "symbol_days" RENAME CONSTRAINT "symbol_type_days_pk" TO "symbol_days_pk";
--> statement-breakpoint
CREATE INDEX "bills_rare" ON "bills" USING btree ("account","product_type","c_time") WHERE "bills"."business_type" <> all (array['open_long', 'open_short', 'close_long', 'close_short', 'buy', 'sell', 'contract_settle_fee', 'OPEN_LONG', 'OPEN_SHORT', 'CLOSE_LONG', 'CLOSE_SHORT', 'BUY_DEAL', 'SELL_DEAL', 'CONTRACT_MAIN_SETTLE_FEE_USER_IN', 'CONTRACT_MAIN_SETTLE_FEE_USER_OUT', 'ORDER_DEALT_IN', 'ORDER_DEALT_FROZEN_OUT']);
--> statement-breakpoint
CREATE INDEX "bills_unshown" ON "bills" USING btree ("account","product_type","c_time") WHERE "bills"."balance" is null;
--> statement-breakpoint
-- Ends of days are bills that show a balance: see src/db/days/day-ends.ts.
DELETE FROM "day_ends";
--> statement-breakpoint
ALTER TABLE "day_ends" DROP COLUMN "business_type";
--> statement-breakpoint
ALTER TABLE "day_ends" DROP COLUMN "amount";
--> statement-breakpoint
ALTER TABLE "day_ends" DROP COLUMN "fee";
--> statement-breakpoint
ALTER TABLE "day_ends" DROP COLUMN "fee_by_coupon";
--> statement-breakpoint
ALTER TABLE "day_ends" ALTER COLUMN "balance" SET NOT NULL;
--> statement-breakpoint
insert into "day_ends" (account, wallet, coin, day, is_last, booked_at, place, product_type, bill_id, balance)
select account, wallet, coin, day, is_last, booked_at, place, product_type, bill_id, balance
from (
  select
    placed.*,
    lag(bill_id) over chain is null as is_day_first,
    lead(bill_id) over chain is null as is_day_last
  from (
    select
      bills.account,
      (case when bills.product_type like 'UTA-%' then 'UTA' else bills.product_type end) as wallet,
      bills.coin,
      (bills.c_time at time zone 'UTC')::date as day,
      greatest(bills.c_time, bill_order.booked_at) as booked_at,
      coalesce(bill_order.place, 0) as place,
      bills.product_type,
      bills.bill_id,
      bills.balance
    from bills
    left join bill_order
      on bill_order.account = bills.account
      and bill_order.product_type = bills.product_type
      and bill_order.bill_id = bills.bill_id
    where bills.balance is not null
  ) as placed
  window chain as (partition by account, wallet, coin, day order by booked_at, place, length(bill_id), bill_id, product_type)
) as ordered
cross join (values (false), (true)) as ends (is_last)
where case when is_last then is_day_last else is_day_first end;
