-- The sought entries of classic and of unified accounts.
create or replace view public.known_entries as
select
  has_liquidation,
  has_bonus,
  has_transfer,
  account,
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
from classic_entries
union all
select
  has_liquidation,
  has_bonus,
  has_transfer,
  account,
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
from unified_entries;
