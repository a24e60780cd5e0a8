create or replace view analytics.bonuses as
select
  account,
  product_type,
  coin,
  is_demo,
  bill_id,
  c_time,
  business_type,
  case
    when business_type like '%\_issue' then 'issued'
    when business_type like '%\_recycle' then 'taken back'
    when business_type like '%\_expired' then 'expired'
    else 'other'
  end as event,
  amount,
  sum(amount) over (
    partition by account, product_type, coin
    order by (c_time at time zone 'UTC')::date, $chain_order
  ) as outstanding
from known_entries
where category = 'bonus';

comment on view analytics.bonuses is
  'Bonuses, coupons and grants, and how much of them is outstanding.';
comment on column analytics.bonuses.account is 'The account''s name in the configuration.';
comment on column analytics.bonuses.product_type is 'USDT-FUTURES, COIN-FUTURES or USDC-FUTURES, with an S before it in demo trading.';
comment on column analytics.bonuses.coin is 'The coin of all amounts of the row. Amounts of different coins are never added up.';
comment on column analytics.bonuses.is_demo is 'Whether this is demo trading, which is not money.';
comment on column analytics.bonuses.bill_id is 'The exchange''s id of the bill: text, since it does not fit a floating-point number.';
comment on column analytics.bonuses.c_time is 'When the exchange made the bill, to the millisecond.';
comment on column analytics.bonuses.business_type is 'The business type of the bill, as the exchange names it.';
comment on column analytics.bonuses.event is 'issued, taken back, expired or other.';
comment on column analytics.bonuses.amount is 'The amount, signed.';
comment on column analytics.bonuses.outstanding is 'The sum of all amounts so far.';
