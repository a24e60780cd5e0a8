-- Computes the rows of ledger_days for the days in dirty_days, from their bills. This is the only
-- definition of such a row. Storing days reads it, views read it for days that are not stored anew
-- yet, and comparing days puts other days under the name dirty_days.
select
  dirty.account,
  dirty.wallet,
  sums.coin,
  dirty.day,
  sums.bills,
  sums.net,
  sums.realised_pnl,
  sums.trading_fees,
  sums.fee_rebates,
  sums.funding_received,
  sums.funding_paid,
  sums.liquidation,
  sums.transfers_in,
  sums.transfers_out,
  sums.bonus,
  sums.copy,
  sums.delivery,
  sums.margin,
  sums.interest,
  sums.conversion,
  sums.spot,
  sums.loan,
  sums.fees,
  sums.unmapped,
  sums.opening,
  sums.lead_bills,
  sums.opened_at,
  sums.closing,
  sums.tail_bills,
  sums.rounding,
  sums.roundings,
  sums.rounded_first_at,
  sums.rounded_last_at,
  sums.difference,
  sums.differences,
  sums.difference_times,
  sums.categories,
  sums.sought_times
from (select distinct account, wallet, day from dirty_days) as dirty
cross join lateral (
  with chained as (
    select
      coin,
      c_time,
      category,
      wallet_amount,
      wallet_fee,
      row_number() over chain as position,
      -- The balance before the day's first bill, as computed from this bill's balance.
      balance - sum(wallet_amount + wallet_fee) over chain as base
    from (
      select
        product_type,
        bill_id,
        coin,
        c_time,
        booked_at,
        place,
        category,
        balance,
        wallet_amount,
        wallet_fee
      from analytics.entries
      left join bill_order using (account, product_type, bill_id)
      where $is_of_dirty_day
      -- Computes what a bill moves once, and not once for each use.
      offset 0
    ) as bills
    window chain as (
      partition by coin
      order by $chain_order
      rows unbounded preceding
    )
  ),
  -- Sums by category and sign first: a bill is added to three sums instead of twenty.
  kinds as (
    select
      coin,
      category,
      wallet_amount > 0 as is_in,
      wallet_fee > 0 as is_rebate,
      count(*) as bills,
      sum(wallet_amount) as amount,
      sum(wallet_fee) as fee,
      min(base) as lowest_base,
      max(base) as highest_base,
      min(position) filter (where base is not null) as first_position,
      max(position) filter (where base is not null) as last_position,
      min(c_time) filter (where base is not null) as opened_at
    from chained
    group by coin, category, wallet_amount > 0, wallet_fee > 0
  ),
  moved as (
    select
      coin,
      sum(bills)::bigint as bills,
      sum(amount + fee) as net,
      min(lowest_base) as lowest_base,
      max(highest_base) as highest_base,
      min(first_position) as first_position,
      max(last_position) as last_position,
      min(opened_at) as opened_at,
      coalesce(sum(amount) filter (where category = 'trade'), 0) as realised_pnl,
      coalesce(sum(fee) filter (where not is_rebate), 0) as trading_fees,
      coalesce(sum(fee) filter (where is_rebate), 0) as fee_rebates,
      coalesce(sum(amount) filter (where category = 'funding' and is_in), 0) as funding_received,
      coalesce(sum(amount) filter (where category = 'funding' and not is_in), 0) as funding_paid,
      coalesce(sum(amount) filter (where category = 'liquidation'), 0) as liquidation,
      coalesce(sum(amount) filter (where category = 'transfer' and is_in), 0) as transfers_in,
      coalesce(sum(amount) filter (where category = 'transfer' and not is_in), 0) as transfers_out,
      coalesce(sum(amount) filter (where category = 'bonus'), 0) as bonus,
      coalesce(sum(amount) filter (where category = 'copy'), 0) as copy,
      coalesce(sum(amount) filter (where category = 'delivery'), 0) as delivery,
      coalesce(sum(amount) filter (where category = 'margin'), 0) as margin,
      coalesce(sum(amount) filter (where category = 'interest'), 0) as interest,
      coalesce(sum(amount) filter (where category = 'conversion'), 0) as conversion,
      coalesce(sum(amount) filter (where category = 'spot'), 0) as spot,
      coalesce(sum(amount) filter (where category = 'loan'), 0) as loan,
      coalesce(sum(amount) filter (where category = 'fees'), 0) as fees,
      -- Not only 'unknown': a category without a column must not vanish from the sums.
      coalesce(
        sum(amount) filter (
          where category not in (
            'trade', 'funding', 'liquidation', 'transfer', 'bonus', 'copy', 'delivery', 'margin',
            'interest', 'conversion', 'spot', 'loan', 'fees'
          )
        ),
        0
      ) as unmapped,
      array_agg(distinct category order by category) as categories
    from kinds
    group by coin
  ),
  -- The bills whose balance does not follow from the one before, and the first bill that shows a
  -- balance. Most days have no row here.
  steps as (
    select
      served.*,
      base - last_base as step,
      -- Each bill since the last balance may have been rounded by one unit in the last place.
      abs(base - last_base) <= 0.00000001 * (position - last_position) as is_rounding
    from (
      select
        coin,
        c_time,
        position,
        base,
        lag(base) over served as last_base,
        lag(position) over served as last_position
      from chained
      where base is not null
        and coin in (select coin from moved where lowest_base <> highest_base)
      window served as (partition by coin order by position)
    ) as served
    where base is distinct from last_base
  ),
  stepped as (
    select
      coin,
      min(base) filter (where last_base is null) as first_base,
      (array_agg(base order by position desc))[1] as last_base,
      coalesce(sum(step) filter (where is_rounding), 0) as rounding,
      count(*) filter (where is_rounding) as roundings,
      min(c_time) filter (where is_rounding) as rounded_first_at,
      max(c_time) filter (where is_rounding) as rounded_last_at,
      coalesce(sum(step) filter (where not is_rounding), 0) as difference,
      array_agg(step order by position) filter (where not is_rounding) as differences,
      array_agg(c_time order by position) filter (where not is_rounding) as difference_times
    from steps
    group by coin
  ),
  sought as (
    select
      coin,
      case when count(*) <= 100 then array_agg(distinct c_time order by c_time) end as times
    from chained
    where category in ('transfer', 'liquidation', 'bonus')
    group by coin
  )
  select
    moved.*,
    coalesce(first_base, lowest_base) as opening,
    first_position - 1 as lead_bills,
    coalesce(last_base, lowest_base) + net as closing,
    bills - last_position + 1 as tail_bills,
    coalesce(rounding, 0) as rounding,
    coalesce(roundings, 0) as roundings,
    rounded_first_at,
    rounded_last_at,
    coalesce(difference, 0) as difference,
    differences,
    difference_times,
    case when sought.coin is null then '{}' else sought.times end as sought_times
  from moved
  left join stepped using (coin)
  left join sought using (coin)
) as sums
