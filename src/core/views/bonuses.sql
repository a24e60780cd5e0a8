create or replace view analytics.bonuses as
select
  account,
  product_type,
  coin,
  bill_id,
  c_time,
  business_type,
  case
    when business_type like '%\_issue' then 'issued'
    when business_type like '%\_recycle' then 'taken-back'
    when business_type like '%\_expired' then 'expired'
    else 'other'
  end as event,
  amount,
  sum(amount) over (
    partition by account, product_type, coin
    order by (c_time at time zone 'UTC')::date, $chain_order
  ) as outstanding
from rare_entries
where category = 'bonus';

comment on view analytics.bonuses is
  'Bonuses, coupons and grants, and how much of them is outstanding.';
comment on column analytics.bonuses.event is 'issued, taken-back, expired or other.';
comment on column analytics.bonuses.outstanding is 'The sum of all amounts so far.';
