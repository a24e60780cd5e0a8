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
  running_balance - bills.wallet_amount - bills.wallet_fee - bills.rounding - bills.discrepancy - bills.unreconciled
    as balance_before,
  bills.balance as balance_after,
  running_balance,
  bills.rounding,
  bills.discrepancy,
  bills.unreconciled,
  is_reconciled,
  chain_days.wallet,
  bills.source
from chain_days
cross join lateral (
  select
    own.*,
    coalesce(base, carried) + moved as running_balance,
    -- Where the day's sums do not tell what of them is rounding, the bill that is off most, with no break, has the rest.
    own_rounding + case when is_most then chain_days.rounding - sum(own_rounding) over () else 0 end as rounding,
    own_discrepancy + case when is_most then chain_days.discrepancy - sum(own_discrepancy) over () else 0 end as discrepancy,
    own_unreconciled + case when is_most then chain_days.unreconciled - sum(own_unreconciled) over () else 0 end
      as unreconciled
  from (
    select
      based.*,
      is_reconciled,
      own_rounding,
      own_discrepancy,
      own_unreconciled,
      1 = row_number() over (order by abs(own_discrepancy + own_unreconciled - judged) desc, position desc) as is_most
    from (
      select
        chained.*,
        -- A bill that shows a balance begins a period. The bills after it that show none belong to it.
        max(balance - moved) over (partition by period) as base,
        level - coalesce(lag(level) over alike, carried) as off,
        -- Each bill since then may have been rounded by one unit in the last place.
        0.00000001 * (position - coalesce(lag(position) over alike, -bills_since)) as rounding_max
      from (
        select
          placed.*,
          -- Bills that may have moved the balance in another order show only what reconcile found: the next bill that is
          -- alone has the rest, or the last one of the day.
          balance is not null and (period = periods or coalesce(gap > $chain_days_booked_max, true)) as is_alone,
          case when period = periods then closing - day_moved else balance - moved end - judged_so_far as level
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
            sum(wallet_amount + wallet_fee) over () as day_moved,
            count(balance) over chain as period,
            count(balance) over () as periods,
            coalesce(broken.difference, 0) as judged,
            sum(coalesce(broken.difference, 0)) over chain as judged_so_far
          from analytics.entries
          left join ledger_breaks as broken
            on broken.account = entries.account
            and broken.ledger = chain_days.wallet
            and broken.coin = entries.coin
            and broken.first_bad_bill = entries.bill_id
            and coalesce(broken.first_bad_product_type, broken.ledger) = entries.product_type
            and $is_of_bill
            and state <> 'resolved'
          where entries.account = chain_days.account
            and entries.product_type = $product_types
            and entries.coin = chain_days.coin
            and $entries_any_balance
            and entries.day = chain_days.day
          window chain as (order by $chain_order rows unbounded preceding)
        ) as placed
      ) as chained
      window alike as (partition by is_alone order by position)
    ) as based
    cross join lateral (
      select
        reconciled_at is not null and coalesce(based.c_time < reconciled_through, true) as is_reconciled,
        case
          when not is_alone then 0
          when abs(off) <= rounding_max then off
          when abs(off + judged) <= rounding_max then off + judged
          else 0
        end as own_rounding
    ) as rounded
    cross join lateral (
      select
        -- A ledger that never shows a balance cannot be tested: its discrepancy is unknown, not zero.
        case
          when carried is null then null
          when is_alone and is_reconciled then off + judged - own_rounding
          else judged
        end as own_discrepancy,
        case when is_alone and not is_reconciled then off - own_rounding else 0 end as own_unreconciled
    ) as parts
  ) as own
) as bills
where $of_wallet;
