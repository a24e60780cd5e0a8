-- Computes each day from its own bills, so that a query for a day reads only that day. The
-- placeholders product_type and product_types say how a wallet's bills are found. For a classic
-- wallet they are its name, so that a query for a product type reads only that wallet.
create or replace view public.$name as
select
  chain_days.account,
  $product_type as product_type,
  chain_days.coin,
  -- Grows from bill to bill, so that no earlier day is read.
  (chain_days.day - date '2000-01-01') * 1000000000::bigint + bills.position as place,
  bills.bill_id,
  bills.c_time,
  chain_days.day,
  bills.symbol,
  bills.business_type,
  bills.category,
  bills.amount,
  bills.fee,
  bills.fee_by_coupon,
  bills.wallet_amount,
  bills.wallet_fee,
  bills.wallet_amount + bills.wallet_fee as net,
  off.running_balance - bills.wallet_amount - bills.wallet_fee - off.rounding - off.residual as balance_before,
  bills.balance as balance_after,
  off.running_balance,
  off.rounding,
  case when is_reconciled or off.residual is null then off.residual else 0 end as discrepancy,
  case when is_reconciled then 0 else off.residual end as unreconciled,
  is_reconciled,
  chain_days.wallet,
  bills.source
from chain_days
cross join lateral (
  select
    based.*,
    lag(base) over chain as last_base,
    lag(shown_place) over chain as last_shown_place,
    -- Or the last balance is of an earlier day.
    least(gap, lag(period_gap) over chain) <= $chain_days_booked_max or lag(base) over chain is null as is_order_open
  from (
    select
      chained.*,
      -- A bill that shows a balance begins a period. The bills after it that show none belong to
      -- it.
      max(balance - moved) over (partition by period) as base,
      min(position) over (partition by period) as shown_place,
      min(gap) over (partition by period) as period_gap
    from (
      select
        product_type,
        bill_id,
        c_time,
        symbol,
        business_type,
        category,
        amount,
        fee,
        fee_by_coupon,
        balance,
        wallet_amount,
        wallet_fee,
        source,
        row_number() over chain as position,
        -- To the bill beside it.
        least(c_time - lag(c_time) over chain, lead(c_time) over chain - c_time) as gap,
        sum(wallet_amount + wallet_fee) over chain as moved,
        count(balance) over chain as period
      from analytics.entries
      where entries.account = chain_days.account
        and entries.product_type = $product_types
        and entries.coin = chain_days.coin
        and $entries_any_balance
        and entries.day = chain_days.day
      window chain as (order by $chain_order rows unbounded preceding)
    ) as chained
  ) as based
  window chain as (order by position)
) as bills
cross join lateral (
  select
    base - coalesce(last_base, carried) as step,
    -- Each bill since the last balance may have been rounded by one unit in the last place.
    0.00000001 * (shown_place - coalesce(last_shown_place, -bills_since)) as rounding_max
) as compared
cross join lateral (
  select reconciled_at is not null and coalesce(bills.c_time < reconciled_through, true) as is_reconciled
) as states
-- What reconcile found at the bill.
left join ledger_breaks as broken
  on abs(step) > rounding_max
  and broken.account = chain_days.account
  and broken.ledger = chain_days.wallet
  and broken.coin = chain_days.coin
  and broken.first_bad_bill = bills.bill_id
  and coalesce(broken.first_bad_product_type, broken.ledger) = bills.product_type
  and $is_of_bill
  and state <> 'resolved'
cross join lateral (
  select
    coalesce(base, carried) + moved as running_balance,
    case when balance is not null and abs(step) <= rounding_max then step else 0 end as rounding,
    case
      -- A ledger that never shows a balance cannot be tested: its discrepancy is unknown, not zero.
      when coalesce(base, carried) is null then null
      when balance is null or abs(step) <= rounding_max then 0
      -- These bills may have moved the balance in another order. Reconcile knows whether they follow each other.
      when is_reconciled and (is_order_open or broken.difference is not null) then coalesce(broken.difference, 0)
      else step
    end as residual
) as off
where $of_wallet;
