create or replace view analytics.funding_by_symbol_day as
select
  account,
  product_type,
  coin,
  product_type like 'S%' as is_demo,
  day,
  symbol,
  funding_received as received,
  funding_paid as paid,
  funding_received + funding_paid as net,
  funding_bills as bills
from current_symbol_days
where funding_bills > 0;

comment on view analytics.funding_by_symbol_day is
  'Funding fees, by contract and day.';
comment on column analytics.funding_by_symbol_day.account is 'The account''s name in the configuration.';
comment on column analytics.funding_by_symbol_day.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it.';
comment on column analytics.funding_by_symbol_day.coin is 'The coin that all amounts of the row are in. Amounts of different coins are never added up.';
comment on column analytics.funding_by_symbol_day.is_demo is 'Whether it is demo trading, which is not money.';
comment on column analytics.funding_by_symbol_day.day is 'The UTC day.';
comment on column analytics.funding_by_symbol_day.symbol is 'The contract, as the exchange names it; empty where a bill has none.';
comment on column analytics.funding_by_symbol_day.received is 'Received, positive.';
comment on column analytics.funding_by_symbol_day.paid is 'Paid, negative.';
comment on column analytics.funding_by_symbol_day.net is 'Both added up.';
comment on column analytics.funding_by_symbol_day.bills is 'How many bills are in the row''s sums.';
