-- The entries that views look for, with what orders them, and some that they do not: what filters by the
-- kind of them reads no others. The words with a dollar are those of wallet_activity.
create or replace view public.$name as
select
  has_liquidation,
  has_bonus,
  has_transfer,
  known.account,
  $product_type as product_type,
  bills.coin,
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
from sought_spans as known
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
  where entries.account = known.account
    and entries.product_type = $product_types
    and entries.c_time >= since
    and entries.c_time < until
    and (known.coin is null or entries.coin = known.coin)
  -- One by one: Postgres would rather read all bills once, which takes longer where few are asked for.
  offset 0
) as bills
where $of_wallet;
