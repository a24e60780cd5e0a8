-- Each day of each chain: the balances at its start and end, what its bills moved, and its discrepancies. A query for
-- a day or a month reads the bills of that time, and looks up the last balance before it.
create or replace view public.chain_days as
select
  chains.account,
  chains.wallet,
  chains.coin,
  dated.day,
  chains.product_types,
  $movements,
  day_sums.bills,
  bills_since,
  carried,
  coalesce(closed.balance, carried + day_sums.net) as closing,
  rounding,
  case when is_reconciled then off - rounding else judged end as discrepancy,
  case when is_reconciled then 0 else off - rounding - judged end as unreconciled,
  chains.is_ended and dated.day = chains.last_day as is_end,
  chains.covered,
  reconciled_at,
  reconciled_through
from chains
-- Days are counted as numbers. A series of times would depend on the session's time zone, and would
-- miss a day where a night has no midnight. Wrapped in an array so that the planner expects 10 rows, not 1,000: at
-- 1,000 it JIT-compiles the statement, which takes longer than running it.
cross join lateral (
  select dated.*
  from (select) as one
  left join lateral (
$first
  ) as shown on true
  cross join lateral (
    select
      chains.first_day + day_offset as day,
      null::numeric as opening,
      null::numeric as bills,
      false as is_first
    from unnest(array(select generate_series(0, chains.last_day - chains.first_day))) as day_offset
    where coalesce(chains.first_day + day_offset > shown.day, true)
    union all
    -- Until the chain's first balance, a balance is that one less what moved since: added up once for all of these days, and
    -- not for later ones.
    select
      chains.first_day + day_offset,
      first.balance,
      first.bills,
      chains.first_day + day_offset = shown.day
    from unnest(array(select generate_series(0, shown.day - chains.first_day))) as day_offset
    join (
      select
        moves.day,
        shown.balance - shown.moved - sum(sum(moves.moved)) over (order by moves.day desc) as balance,
        sum(moves.bills) as bills
      from (
        select chains.first_day + generate_series(0, shown.day - chains.first_day) as day, 0 as moved, 0 as bills
        union all
        select entries.day, wallet_amount + wallet_fee, 1
        from analytics.entries
        where entries.account = chains.account
          and entries.product_type = any(chains.product_types)
          and entries.coin = chains.coin
          and $entries_any_balance
          and row(entries.day, entries.c_time) <= row(shown.day, shown.c_time)
          and (entries.c_time < edge_time or $entries_without_balance and row($entries_place) < row($shown_place))
      ) as moves
      group by moves.day
    ) as first on first.day = chains.first_day + day_offset
  ) as dated
) as dated
-- What the bills of the day move, by category.
cross join lateral (
  select
    coalesce(sum(bills), 0)::bigint as bills,
    coalesce(sum(amount_in + amount_out + fee_in + fee_out), 0) as net,
    $movement_sums
  from (
    select
      coalesce(business_types.category, 'unclassified') as category,
      bills,
      $sum_amount_in as amount_in,
      $sum_amount_out as amount_out,
      $sum_fee_in as fee_in,
      $sum_fee_out as fee_out
    from (
      select
        bills.account,
        bills.product_type,
        bills.business_type,
        count(*) as bills,
        $bill_sums
      from bills
      where bills.account = chains.account
        and bills.product_type = any(chains.product_types)
        and bills.coin = chains.coin
        and $bills_any_balance
        and $bills_day = dated.day
      group by bills.account, bills.product_type, bills.business_type
    ) as days
    $join_day_rules
  ) as meant
) as day_sums
left join lateral (
$balance_before_day
) as opened on true
left join lateral (
$balance_after_day
) as closed on true
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
  on broken.account = chains.account
  and broken.wallet = chains.wallet
  and broken.coin = chains.coin
  and broken.day = dated.day
cross join lateral (
  select
    coalesce(opened.balance, dated.opening) as carried,
    -- How many bills ago the last balance before the day was shown; less than none on the day of the first one.
    coalesce(opened.bills, -dated.bills - 1) as bills_since,
    closed.day = dated.day as is_shown,
    coalesce(broken.difference, 0) as judged
) as bases
cross join lateral (
  select
    -- How far the day's last balance is off its bills.
    case when is_shown then closed.balance - carried - day_sums.net else 0 end as off,
    -- Each bill since the balance before may have been rounded by one unit in the last place.
    case when is_shown then 0.00000001 * (day_sums.bills - closed.bills + bills_since) else 0 end as rounding_max
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
      or reconciled_at is not null
        and coalesce(not is_shown or closed.c_time < reconciled_through, true) as is_reconciled
) as states;
