-- The days that have bills, and whether some may be of what views look for: of a day that is not stored
-- as its bills say, nobody knows.
create or replace view public.known_days as
select
  account,
  wallet,
  day,
  bool_or(has_liquidation) as has_liquidation,
  bool_or(has_bonus) as has_bonus,
  bool_or(has_transfer) as has_transfer
from (
  select
    account,
    wallet,
    day,
    'liquidation' = any(categories) as has_liquidation,
    'bonus' = any(categories) as has_bonus,
    'transfer' = any(categories) as has_transfer
  from ledger_days
  union all
  select account, wallet, day, true, true, true
  from dirty_days
) as days
group by account, wallet, day;
