create or replace view analytics.month_end_balances as
select
  account,
  product_type,
  coin,
  is_demo,
  month,
  (month + interval '1 month - 1 day')::date as month_end,
  reported_closing as balance,
  bills,
  is_complete
from analytics.monthly_rollforward;

comment on view analytics.month_end_balances is
  'The balance at the end of each month.';
comment on column analytics.month_end_balances.product_type is 'USDT-FUTURES, COIN-FUTURES or USDC-FUTURES, with an S before it in demo trading; UTA for the one wallet of a unified account.';
comment on column analytics.month_end_balances.month_end is 'The last UTC day of the month.';
comment on column analytics.month_end_balances.balance is 'The balance after the month''s last bill.';
