-- The time in which views find the bills that they look for, which few days have: of days that are stored
-- as their bills say the milliseconds of such bills. Of other days nobody knows, and of one that has very
-- many all are read.
create or replace view public.sought_spans as
select
  account,
  wallet,
  -- Null for all coins: spans of one wallet would overlap otherwise.
  coin,
  since,
  since + case when sought_times is null then interval '24 hours' else interval '1 millisecond' end as until,
  'liquidation' = any(categories) as has_liquidation,
  'bonus' = any(categories) as has_bonus,
  'transfer' = any(categories) as has_transfer
from ledger_days as stored
cross join lateral unnest(coalesce(sought_times, array[day::timestamp at time zone 'UTC'])) as since
where $is_stored_day_clean
union all
select
  account,
  wallet,
  null,
  day::timestamp at time zone 'UTC',
  (day + 1)::timestamp at time zone 'UTC',
  true,
  true,
  true
from (select distinct account, wallet, day from dirty_days) as dirty;
