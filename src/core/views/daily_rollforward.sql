create or replace view analytics.daily_rollforward as
select
  account,
  wallet as product_type,
  coin,
  day,
  carried as opening,
  $movements,
  case when ends_wallet then -chain_days.closing else 0 end as left_behind,
  rounding,
  case when ends_wallet then 0 else chain_days.closing end - discrepancy - unreconciled as computed_closing,
  case when ends_wallet then 0 else chain_days.closing end as closing,
  discrepancy,
  unreconciled,
  bills,
  coalesce(
    covered @> tstzrange(day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'),
    false
  ) as is_complete
from chain_days
cross join lateral (
  -- A balance that no bill shows stays unknown.
  select is_end and chain_days.closing is not null as ends_wallet
) as ends;

comment on view analytics.daily_rollforward is
  'How each day''s balance came about: opening, every category, closing. One row for each day, from the first bill to the end of the time that was read.';
