-- The days of each chain, in order. A chain is one coin of one wallet. Only days with bills have a
-- row.
--
-- A query for a month reads all earlier days of the chain. So columns that are not summed pass the
-- windows as one value, `own`, and there is no `with`: whatever follows one would be computed for
-- every day.
create or replace view public.chained_days as
select
  account,
  wallet,
  coin,
  day,
  next_day,
  own,
  bills_before,
  carried,
  case when is_step_rounding then step else 0 end as step_rounding,
  case when is_step_rounding then 0 else step end as step_difference,
  coalesce(closing, carried + net) as reported_closing
from (
  select
    running.*,
    -- The last earlier day that shows a balance: the number of bills before its last balance, and
    -- the balance before the chain's first bill as computed from that balance. max() compares
    -- arrays by their first element, so the last such day wins.
    max(array[bills_before + bills - tail_bills, closing - net - net_before])
      filter (where closing is not null) over earlier as last_base,
    min(array[bills_before, opening - net_before])
      filter (where opening is not null) over chain as first_base
  from (
    select
      account,
      wallet,
      coin,
      day,
      bills,
      net,
      opening,
      lead_bills,
      closing,
      tail_bills,
      days as own,
      lead(day) over earlier as next_day,
      coalesce(sum(bills) over earlier, 0) as bills_before,
      coalesce(sum(net) over earlier, 0) as net_before
    from current_ledger_days as days
    window earlier as (
      partition by account, wallet, coin
      order by day
      rows between unbounded preceding and 1 preceding
    )
  ) as running
  window
    chain as (partition by account, wallet, coin),
    earlier as (
      partition by account, wallet, coin
      order by day
      rows between unbounded preceding and 1 preceding
    )
) as based
cross join lateral (
  select
    -- The balance before the day's first bill, as computed from the bills before it.
    coalesce(last_base[2], first_base[2]) + net_before as carried,
    -- How far the day's first balance is off the carried one.
    coalesce(opening - net_before - last_base[2], 0) as step,
    -- Each bill since the last balance may have been rounded by one unit in the last place.
    abs(opening - net_before - last_base[2])
      <= 0.00000001 * (bills_before + lead_bills - last_base[1]) as is_step_rounding
) as steps;
