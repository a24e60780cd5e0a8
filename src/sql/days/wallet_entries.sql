-- The entries of each day, with what orders them, and whether the day has some that views look for: what
-- filters by that reads no other days. The words with a dollar are those of wallet_activity.
create or replace view public.$name as
select
  has_liquidation,
  has_bonus,
  has_transfer,
  days.account,
  $product_type as product_type,
  coin,
  is_demo,
  bill_id,
  c_time,
  booked_at,
  place,
  symbol,
  business_type,
  category,
  amount,
  fee,
  balance
from known_days as days
cross join lateral (
  select
    product_type,
    coin,
    is_demo,
    bill_id,
    c_time,
    booked_at,
    place,
    symbol,
    business_type,
    category,
    amount,
    fee,
    balance
  from analytics.entries
  left join bill_order using (account, product_type, bill_id)
  where entries.account = days.account
    and entries.product_type = $product_types
    and entries.c_time >= days.day::timestamp at time zone 'UTC'
    and entries.c_time < (days.day + 1)::timestamp at time zone 'UTC'
  -- Day by day: Postgres would rather read all bills once, which takes longer where few days are asked for.
  offset 0
) as bills
where $of_wallet;
