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
comment on column analytics.funding_by_symbol_day.account is 'The account''s name in the configuration.';
comment on column analytics.funding_by_symbol_day.product_type is 'USDT-FUTURES, COIN-FUTURES or USDC-FUTURES, with an S before it in demo trading.';
comment on column analytics.funding_by_symbol_day.coin is 'The coin of all amounts of the row. Amounts of different coins are never added up.';
comment on column analytics.funding_by_symbol_day.is_demo is 'Whether this is demo trading, which is not money.';
comment on column analytics.funding_by_symbol_day.day is 'The UTC day.';
comment on column analytics.funding_by_symbol_day.symbol is 'The contract, as the exchange names it; empty if the bill has none.';
comment on column analytics.funding_by_symbol_day.received is 'Funding received, positive.';
comment on column analytics.funding_by_symbol_day.paid is 'Funding paid, negative.';
comment on column analytics.funding_by_symbol_day.net is 'Received plus paid.';
comment on column analytics.funding_by_symbol_day.bills is 'How many bills the sums of the row have.';
