-- The days of each chain, in order, with their discrepancies. A chain is one coin of one wallet. Only
-- days with bills have a row.
--
-- A query for a month reads all earlier days of the chain. So columns that are not summed pass the
-- windows as one value, `own`, and there is no `with`: whatever follows one would be computed for
-- every day.
create or replace view public.chain_day_balances as
select
  based.account,
  based.wallet,
  based.coin,
  based.day,
  next_day,
  day_sums,
  bills_before,
  shown_before,
  carried,
  coalesce(shown_closing, carried + net) as closing,
  rounding,
  case when is_reconciled then off - rounding else judged end as discrepancy,
  case when is_reconciled then 0 else off - rounding - judged end as unreconciled
from (
  select
    running.*,
    -- The last earlier day that shows a balance: the place of the bill that shows it, and the balance
    -- before the chain's first bill as computed from it. max() compares arrays by their first element,
    -- so the last such day wins.
    max(array[shown_place, shown_closing - net - net_before])
      filter (where shown_closing is not null) over earlier as last_base,
    min(opening - net_before) over chain as first_base,
    min(opening_place) over chain as first_place
  from (
    select
      days.*,
      days.balance + coalesce(tail_moved, 0) as shown_closing,
      bills_before + bills - coalesce(tail_bills, 0) as shown_place,
      first.balance - first.moved - coalesce(lead_moved, 0) as opening,
      case when first.day is not null then bills_before + coalesce(lead_bills, 0) + 1 end as opening_place
    from (
      select
        days.account,
        days.wallet,
        days.coin,
        days.day,
        bills,
        without_balance,
        net,
        days as day_sums,
        last.booked_at,
        last.place,
        last.product_type,
        last.bill_id,
        last.balance,
        lead(days.day) over earlier as next_day,
        coalesce(sum(bills) over earlier, 0) as bills_before,
        coalesce(sum(net) over earlier, 0) as net_before,
        min(last.day) over chain as first_shown_on
      from chain_day_sums as days
      left join day_ends as last
        on last.account = days.account
        and last.wallet = days.wallet
        and last.coin = days.coin
        and last.day = days.day
        and last.is_last
      window
        chain as (partition by days.account, days.wallet, days.coin),
        earlier as (
          partition by days.account, days.wallet, days.coin
          order by days.day
          rows between unbounded preceding and 1 preceding
        )
    ) as days
    -- The bills after the last balance of the day. None of them shows one, as the index bills_without_balance says it.
    left join lateral (
      select count(*) as tail_bills, sum(wallet_amount + wallet_fee) as tail_moved
      from analytics.entries
      left join bill_order using (account, product_type, bill_id)
      where days.without_balance > 0
        and entries.balance is null
        and entries.account = days.account
        and entries.product_type = any($days_product_types)
        and entries.coin = days.coin
        and entries.c_time >= days.booked_at - $days_booked_max
        and entries.c_time < (days.day + 1)::timestamp at time zone 'UTC'
        and ($entries_place)
          > ($days_place)
    ) as tail on true
    -- The first balance of the chain, and what the bill moved that shows it.
    left join lateral (
      select ends.*, wallet_amount + wallet_fee as moved
      from day_ends as ends
      join analytics.entries using (account, product_type, bill_id)
      where days.day = days.first_shown_on
        and ends.account = days.account
        and ends.wallet = days.wallet
        and ends.coin = days.coin
        and ends.day = days.day
        and not is_last
    ) as first on true
    -- The bills before it on its day.
    left join lateral (
      select count(*) as lead_bills, sum(wallet_amount + wallet_fee) as lead_moved
      from analytics.entries
      left join bill_order using (account, product_type, bill_id)
      where days.day = days.first_shown_on
        and days.without_balance > 0
        and entries.balance is null
        and entries.account = days.account
        and entries.product_type = any($days_product_types)
        and entries.coin = days.coin
        and entries.c_time >= days.day::timestamp at time zone 'UTC'
        and entries.c_time <= first.booked_at
        and ($entries_place)
          < ($first_place)
    ) as before on true
  ) as running
  window
    chain as (partition by account, wallet, coin),
    earlier as (
      partition by account, wallet, coin
      order by day
      rows between unbounded preceding and 1 preceding
    )
) as based
-- What reconcile found of the day.
left join (
  select
    account,
    ledger as wallet,
    coin,
    (happened_at at time zone 'UTC')::date as day,
    sum(difference) as difference
  from ledger_breaks
  where state <> 'resolved'
    and $is_of_bill
  group by account, ledger, coin, (happened_at at time zone 'UTC')::date
) as broken
  on broken.account = based.account
  and broken.wallet = based.wallet
  and broken.coin = based.coin
  and broken.day = based.day
left join reconciled_chains
  on reconciled_chains.account = based.account
  and reconciled_chains.wallet = based.wallet
  and reconciled_chains.coin = based.coin
cross join lateral (
  select
    coalesce(last_base[2], first_base) + net_before as carried,
    coalesce(last_base[1], first_place) as shown_before,
    coalesce(broken.difference, 0) as judged
) as bases
cross join lateral (
  select
    -- How far the day's last balance is off its bills.
    coalesce(shown_closing - carried - net, 0) as off,
    -- Each bill since the balance before may have been rounded by one unit in the last place.
    0.00000001 * coalesce(shown_place - shown_before, 0) as rounding_max
) as shown
cross join lateral (
  select
    case
      when abs(off - judged) <= rounding_max then off - judged
      when abs(off) <= rounding_max then off
      else 0
    end as rounding
) as rounded
cross join lateral (
  -- What remains is unreconciled until reconcile has judged the bill that shows it.
  select
    rounding = off
      or reconciled_at is not null and coalesce(booked_at < reconciled_through, true) as is_reconciled
) as states;
