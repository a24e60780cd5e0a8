-- What the bills of each chain's day move, by category. Only days with bills have a row.
create or replace view public.chain_days as
select
  account,
  wallet,
  coin,
  day,
  sum(bills)::bigint as bills,
  sum(unshown)::bigint as unshown,
  sum(amount_in + amount_out + fee_in + fee_out) as net,
  coalesce(sum(amount_in + amount_out) filter (where category = 'trade'), 0) as realised_pnl,
  sum(fee_out) as trading_fees,
  sum(fee_in) as fee_rebates,
  coalesce(sum(amount_in) filter (where category = 'funding'), 0) as funding_received,
  coalesce(sum(amount_out) filter (where category = 'funding'), 0) as funding_paid,
  coalesce(sum(amount_in + amount_out) filter (where category = 'liquidation'), 0) as liquidation,
  coalesce(sum(amount_in) filter (where category = 'transfer'), 0) as transfers_in,
  coalesce(sum(amount_out) filter (where category = 'transfer'), 0) as transfers_out,
  coalesce(sum(amount_in + amount_out) filter (where category = 'bonus'), 0) as bonus,
  coalesce(sum(amount_in + amount_out) filter (where category = 'copy'), 0) as copy,
  coalesce(sum(amount_in + amount_out) filter (where category = 'delivery'), 0) as delivery,
  coalesce(sum(amount_in + amount_out) filter (where category = 'margin'), 0) as margin,
  coalesce(sum(amount_in + amount_out) filter (where category = 'interest'), 0) as interest,
  coalesce(sum(amount_in + amount_out) filter (where category = 'conversion'), 0) as conversion,
  coalesce(sum(amount_in + amount_out) filter (where category = 'spot'), 0) as spot,
  coalesce(sum(amount_in + amount_out) filter (where category = 'loan'), 0) as loan,
  coalesce(sum(amount_in + amount_out) filter (where category = 'fees'), 0) as fees,
  coalesce(sum(amount_in + amount_out) filter (where category = 'deposit'), 0) as deposits,
  coalesce(sum(amount_in + amount_out) filter (where category = 'withdrawal'), 0) as withdrawals,
  -- Not only 'unknown': a category without a column must not vanish from the sums.
  coalesce(
    sum(amount_in + amount_out) filter (
      where category not in (
        'trade', 'funding', 'liquidation', 'transfer', 'bonus', 'copy', 'delivery', 'margin',
        'interest', 'conversion', 'spot', 'loan', 'fees', 'deposit', 'withdrawal'
      )
    ),
    0
  ) as unmapped
from (
  select
    days.account,
    $days_wallet as wallet,
    coin,
    day,
    coalesce(business_types.category, 'unknown') as category,
    bills,
    unshown,
    $sum_amount_in as amount_in,
    $sum_amount_out as amount_out,
    $sum_fee_in as fee_in,
    $sum_fee_out as fee_out
  from type_days as days
  $join_day_rules
  where bills <> 0
) as meant
group by account, wallet, coin, day;
