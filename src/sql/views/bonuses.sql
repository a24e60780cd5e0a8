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
where has_bonus
  and category = 'bonus';

comment on view analytics.bonuses is
  'Bonuses, coupons and grants, with what of them is outstanding.';
comment on column analytics.bonuses.account is 'The account''s name in the configuration.';
comment on column analytics.bonuses.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it.';
comment on column analytics.bonuses.coin is 'The coin that all amounts of the row are in. Amounts of different coins are never added up.';
comment on column analytics.bonuses.is_demo is 'Whether it is demo trading, which is not money.';
comment on column analytics.bonuses.bill_id is 'The exchange''s id of the bill: text, since it does not fit a floating-point number.';
comment on column analytics.bonuses.c_time is 'When the exchange made the bill, to the millisecond.';
comment on column analytics.bonuses.business_type is 'The kind of bill, as the exchange names it.';
comment on column analytics.bonuses.event is 'issued, taken back, expired or other.';
comment on column analytics.bonuses.amount is 'Signed.';
comment on column analytics.bonuses.outstanding is 'All of them so far, added up.';
