create or replace view analytics.daily_rollforward as
with sums as (
  select
    account,
    product_type,
    coin,
    day,
    coalesce(sum(wallet_amount) filter (where category = 'trade'), 0) as realised_pnl,
    coalesce(sum(wallet_fee) filter (where wallet_fee < 0), 0) as trading_fees,
    coalesce(sum(wallet_fee) filter (where wallet_fee > 0), 0) as fee_rebates,
    coalesce(sum(wallet_amount) filter (where category = 'funding' and wallet_amount > 0), 0) as funding_received,
    coalesce(sum(wallet_amount) filter (where category = 'funding' and wallet_amount < 0), 0) as funding_paid,
    coalesce(sum(wallet_amount) filter (where category = 'liquidation'), 0) as liquidation,
    coalesce(sum(wallet_amount) filter (where category = 'transfer' and wallet_amount > 0), 0) as transfers_in,
    coalesce(sum(wallet_amount) filter (where category = 'transfer' and wallet_amount < 0), 0) as transfers_out,
    coalesce(sum(wallet_amount) filter (where category = 'bonus'), 0) as bonus,
    coalesce(sum(wallet_amount) filter (where category = 'copy'), 0) as copy,
    coalesce(sum(wallet_amount) filter (where category = 'delivery'), 0) as delivery,
    coalesce(sum(wallet_amount) filter (where category = 'margin'), 0) as margin,
    coalesce(sum(wallet_amount) filter (where category = 'interest'), 0) as interest,
    coalesce(sum(wallet_amount) filter (where category = 'conversion'), 0) as conversion,
    -- Not only 'unknown': a category that this view has no column for must not vanish from a sum.
    coalesce(
      sum(wallet_amount) filter (
        where category not in (
          'trade', 'funding', 'liquidation', 'transfer', 'bonus', 'copy', 'delivery', 'margin',
          'interest', 'conversion'
        )
      ),
      0
    ) as unmapped,
    coalesce(sum(rounding), 0) as rounding,
    coalesce(sum(difference), 0) as difference,
    sum(net) as net,
    max(balance_before) filter (where position = 1) as first_opening,
    count(*) as bills
  from analytics.activity
  group by account, product_type, coin, day
),
covered as (
  select account, product_type, range_agg(tstzrange(window_start, window_end)) as time
  from checkpoints
  where state = 'complete'
  group by account, product_type
),
calendar as (
  select
    chain.account,
    chain.product_type,
    chain.coin,
    -- Not a series of times: they are the session's, and where a night has no midnight it loses a day.
    chain.first_day + generate_series(
      0,
      greatest(chain.last_day, (upper(covered.time) at time zone 'UTC')::date) - chain.first_day
    ) as day
  from (
    select account, product_type, coin, min(day) as first_day, max(day) as last_day
    from sums
    group by account, product_type, coin
  ) as chain
  left join covered using (account, product_type)
),
days as (
  select
    account,
    product_type,
    coin,
    day,
    coalesce(realised_pnl, 0) as realised_pnl,
    coalesce(trading_fees, 0) as trading_fees,
    coalesce(fee_rebates, 0) as fee_rebates,
    coalesce(funding_received, 0) as funding_received,
    coalesce(funding_paid, 0) as funding_paid,
    coalesce(liquidation, 0) as liquidation,
    coalesce(transfers_in, 0) as transfers_in,
    coalesce(transfers_out, 0) as transfers_out,
    coalesce(bonus, 0) as bonus,
    coalesce(copy, 0) as copy,
    coalesce(delivery, 0) as delivery,
    coalesce(margin, 0) as margin,
    coalesce(interest, 0) as interest,
    coalesce(conversion, 0) as conversion,
    coalesce(unmapped, 0) as unmapped,
    coalesce(rounding, 0) as rounding,
    coalesce(difference, 0) as difference,
    coalesce(net, 0) as net,
    coalesce(bills, 0) as bills,
    max(first_opening) over (partition by account, product_type, coin)
      + sum(coalesce(net, 0) + coalesce(rounding, 0) + coalesce(difference, 0)) over (
        partition by account, product_type, coin
        order by day
      ) as reported_closing
  from calendar
  left join sums using (account, product_type, coin, day)
)
select
  account,
  product_type,
  coin,
  product_type like 'S%' as is_demo,
  day,
  reported_closing - difference - rounding - net as opening,
  realised_pnl,
  trading_fees,
  fee_rebates,
  funding_received,
  funding_paid,
  liquidation,
  transfers_in,
  transfers_out,
  bonus,
  copy,
  delivery,
  margin,
  interest,
  conversion,
  unmapped,
  rounding,
  reported_closing - difference as computed_closing,
  reported_closing,
  difference,
  bills,
  coalesce(
    covered.time @> tstzrange(day at time zone 'UTC', (day + 1) at time zone 'UTC'),
    false
  ) as is_complete
from days
left join covered using (account, product_type);
