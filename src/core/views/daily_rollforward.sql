-- The placeholders come from wallet-moves.ts and movements.ts.
create or replace view analytics.daily_rollforward as
-- Not materialized, so that a query for one account reads the rows of no other.
with read as not materialized (
  select account, product_type, covered as time
  from ledgers
  where covered <> '{}'
),
-- A unified account has one balance: while one of its product types was never read, nothing is
-- complete. Product types that the key may not read do not count.
unread as (
  select distinct account
  from (select distinct account from read where $wallet = 'UTA') as unified
  cross join unnest($unified_types) as wanted (product_type)
  left join ledgers using (account, product_type)
  where coalesce(covered, '{}') = '{}'
    and not_available_since is null
),
covered as (
  select
    read.account,
    $wallet as wallet,
    case
      when $wallet = 'UTA' and unread.account is not null then '{}'
      else range_intersect_agg(time)
    end as time
  from read
  left join unread using (account)
  group by read.account, unread.account, 2
),
-- The day on which a wallet's account changed to the other mode. What was left in the wallet is
-- taken out on that day.
ended_wallets as (
  select
    account,
    $wallet as wallet,
    (max(ended_at) at time zone 'UTC')::date as ended_on
  from ledgers
  where ended_at is not null
  group by account, 2
),
dated as (
  select
    days.*,
    next_day is null and ended_on is not null as is_last_of_ended,
    covered.time,
    -- Each day with bills is followed by the days without bills, up to the next day that has bills.
    coalesce(
      next_day - 1,
      greatest(day, coalesce(ended_on, (upper(covered.time) at time zone 'UTC')::date))
    ) as until
  from chain_day_balances as days
  left join covered using (account, wallet)
  left join ended_wallets using (account, wallet)
),
-- Days are counted as numbers. A series of times would depend on the session's time zone, and would
-- miss a day where a night has no midnight.
days as (
  select
    dated.account,
    dated.wallet,
    dated.coin,
    dated.time,
    dated.day + day_offset as day,
    case when day_offset = 0 then carried else closing end as opening,
    closing,
    $movements_of_first_day,
    case when day_offset = 0 then dated.rounding else 0 end as rounding,
    case when day_offset = 0 then dated.discrepancy else 0 end as discrepancy,
    case when day_offset = 0 then dated.unreconciled else 0 end as unreconciled,
    case when day_offset = 0 then (day_sums).bills else 0 end as bills,
    -- A balance that no bill shows stays unknown.
    is_last_of_ended and day_offset = dated.until - dated.day and closing is not null as ends_wallet
  from dated
  -- Wrapped in an array so that the planner expects 10 rows, not 1,000: at 1,000 it JIT-compiles
  -- the statement, which takes longer than running it.
  cross join lateral unnest(array(select generate_series(0, dated.until - dated.day))) as day_offset
)
select
  account,
  wallet as product_type,
  coin,
  day,
  opening,
  $movements,
  case when ends_wallet then -closing else 0 end as left_behind,
  rounding,
  case when ends_wallet then 0 else closing end - discrepancy - unreconciled as computed_closing,
  case when ends_wallet then 0 else closing end as closing,
  discrepancy,
  unreconciled,
  bills,
  coalesce(
    time @> tstzrange(day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'),
    false
  ) as is_complete
from days;

comment on view analytics.daily_rollforward is
  'How each day''s balance came about: opening, every category, closing. One row for each day, from the first bill to the end of the time that was read.';
