-- Computes the rows of check_days for the days in dirty_days, as dirty_ledger_days does for
-- ledger_days.
select
  dirty.account,
  sums.product_type,
  dirty.wallet,
  dirty.day,
  found.check,
  found.bills,
  found.first_at,
  found.last_at
from (select distinct account, wallet, day from dirty_days) as dirty
cross join lateral (
  select
    product_type,
    count(*) filter (where balance is null) as unshown,
    min(c_time) filter (where balance is null) as unshown_first_at,
    max(c_time) filter (where balance is null) as unshown_last_at,
    count(*) filter (where category = 'unknown') as unmapped,
    min(c_time) filter (where category = 'unknown') as unmapped_first_at,
    max(c_time) filter (where category = 'unknown') as unmapped_last_at,
    count(*) filter (where is_id_odd) as odd,
    min(c_time) filter (where is_id_odd) as odd_first_at,
    max(c_time) filter (where is_id_odd) as odd_last_at,
    count(*) filter (where has_extra) as extra,
    min(c_time) filter (where has_extra) as extra_first_at,
    max(c_time) filter (where has_extra) as extra_last_at
  from analytics.entries
  where $is_of_dirty_day
    -- Sums only odd bills, which are few.
    and (balance is null or category = 'unknown' or has_extra or is_id_odd)
  group by product_type
) as sums
cross join lateral (
  values
    ('bills without a balance', unshown, unshown_first_at, unshown_last_at),
    ('bills of an unmapped type', unmapped, unmapped_first_at, unmapped_last_at),
    ('ids that tell another time', odd, odd_first_at, odd_last_at),
    ('bills with fields that no contract lists', extra, extra_first_at, extra_last_at)
) as found ("check", bills, first_at, last_at)
where found.bills > 0
