-- The time spans in which views look for transfers, liquidations and bonuses. Few days have such
-- bills. On a clean day the spans are the milliseconds of these bills. The whole day is read if it
-- is dirty, since its bills are not known, or if it has very many of them.
create or replace view public.sought_spans as
select
  account,
  wallet,
  -- Null means all coins. A dirty day has one span for all: spans for each coin would overlap.
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
