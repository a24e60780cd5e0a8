-- What the bills of each chain's day move, by category. Only days with bills have a row. The movements are listed in
-- src/core/views/movements.ts, for all views.
create or replace view public.chain_day_sums as
select
  account,
  wallet,
  coin,
  day,
  sum(bills)::bigint as bills,
  sum(without_balance)::bigint as without_balance,
  sum(amount_in + amount_out + fee_in + fee_out) as net,
  $movement_sums
from (
  select
    days.account,
    $days_wallet as wallet,
    coin,
    day,
    coalesce(business_types.category, 'unclassified') as category,
    bills,
    without_balance,
    $sum_amount_in as amount_in,
    $sum_amount_out as amount_out,
    $sum_fee_in as fee_in,
    $sum_fee_out as fee_out
  from type_days as days
  $join_day_rules
  where bills <> 0
) as meant
group by account, wallet, coin, day;
