-- The entries in the sought spans, with the columns that order them. A span may contain other
-- entries too. A query that filters by has_liquidation, has_bonus or has_transfer reads only the
-- spans of that kind. The placeholders are those of wallet_activity.
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
    -- A unified account's amount without the fee that it may contain.
    $amount_apart as amount,
    $fee_apart as fee,
    balance
  from analytics.entries
  left join bill_order using (account, product_type, bill_id)
  where entries.account = $account
    and entries.product_type = $product_types
    and entries.c_time >= since
    and entries.c_time < until
    and (known.coin is null or entries.coin = known.coin)
  -- Reads span by span. Otherwise Postgres would read all bills once, which takes longer if few are
  -- asked for.
  offset 0
) as bills
where $of_wallet;
