create or replace view analytics.funding_by_symbol_day as
select
  account,
  product_type,
  coin,
  $is_demo as is_demo,
  day,
  symbol,
  sum(amount_in) as received,
  sum(amount_out) as paid,
  sum(amount_in + amount_out) as net,
  sum(bills)::bigint as bills
from contract_days
$join_account
where category = 'funding'
group by account, product_type, whole.is_demo, coin, day, symbol
having sum(bills) > 0;

comment on view analytics.funding_by_symbol_day is
  'Funding fees, by contract and day.';
comment on column analytics.funding_by_symbol_day.received is 'Funding received, positive.';
comment on column analytics.funding_by_symbol_day.paid is 'Funding paid, negative.';
comment on column analytics.funding_by_symbol_day.net is 'Received plus paid.';
