create or replace view analytics.realised_pnl_by_symbol_day as
select
  account,
  product_type,
  coin,
  $is_demo as is_demo,
  day,
  symbol,
  sum(amount_in) as profit,
  sum(amount_out) as loss,
  sum(amount_in + amount_out) as net,
  sum(amount_bills)::bigint as bills
from contract_days
$join_account
where category = 'trade'
group by account, product_type, whole.is_demo, coin, day, symbol
having sum(amount_bills) > 0;

comment on view analytics.realised_pnl_by_symbol_day is
  'Profit and loss of closed positions without fees, by contract and day; liquidations and deliveries are not included.';
comment on column analytics.realised_pnl_by_symbol_day.profit is 'The sum of the bills with a profit, positive.';
comment on column analytics.realised_pnl_by_symbol_day.loss is 'The sum of the bills with a loss, negative.';
comment on column analytics.realised_pnl_by_symbol_day.net is 'Profit plus loss.';
