-- Computes the rows of symbol_days for the days in dirty_days, as dirty_ledger_days does for
-- ledger_days.
select
  dirty.account,
  sums.product_type,
  dirty.wallet,
  dirty.day,
  sums.coin,
  sums.symbol,
  sums.fee_bills,
  sums.fees,
  sums.rebates,
  sums.paid_by_coupon,
  sums.funding_bills,
  sums.funding_received,
  sums.funding_paid,
  sums.profit_bills,
  sums.profit,
  sums.loss,
  sums.bills
from (select distinct account, wallet, day from dirty_days) as dirty
cross join lateral (
  select
    product_type,
    coin,
    coalesce(symbol, '') as symbol,
    count(*) filter (where fee <> 0 or fee_by_coupon <> 0) as fee_bills,
    coalesce(sum(fee) filter (where fee < 0), 0) as fees,
    coalesce(sum(fee) filter (where fee > 0), 0) as rebates,
    coalesce(sum(fee_by_coupon), 0) as paid_by_coupon,
    count(*) filter (where category = 'funding') as funding_bills,
    coalesce(sum(net) filter (where category = 'funding' and net > 0), 0) as funding_received,
    coalesce(sum(net) filter (where category = 'funding' and net < 0), 0) as funding_paid,
    count(*) filter (where category = 'trade' and net <> 0) as profit_bills,
    coalesce(sum(net) filter (where category = 'trade' and net > 0), 0) as profit,
    coalesce(sum(net) filter (where category = 'trade' and net < 0), 0) as loss,
    -- A bill that closes a position has both a profit and a fee.
    count(*) filter (
      where fee <> 0
        or fee_by_coupon <> 0
        or category = 'funding'
        or (category = 'trade' and net <> 0)
    ) as bills
  from (
    select
      product_type,
      coin,
      symbol,
      category,
      fee,
      fee_by_coupon,
      -- A unified account's amount without the fee that it may contain.
      $amount_apart as net
    from analytics.entries
    where $is_of_dirty_day
    -- Computes each bill's net once, and not once for each use.
    offset 0
  ) as bills
  group by product_type, coin, coalesce(symbol, '')
) as sums
where bills > 0
