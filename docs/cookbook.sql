-- Questions that accountants and quants ask of the ledger. Each begins with a line of two dashes and
-- a hash; docs/analytics.md shows them with what they answer on a sandbox's ledger.

-- # What was the balance at the end of each month?
select month, coin, closing as balance, is_complete
from analytics.monthly_rollforward
where account = 'main'
  and product_type = 'USDT-FUTURES'
order by month;

-- # How did March's balance come about?
select
  opening,
  realised_pnl,
  fees_paid + fee_rebates as fees,
  funding_received + funding_paid as funding,
  liquidation,
  transfers_in + transfers_out + deposits + withdrawals as net_flows,
  bonus + copy + delivery + margin + interest + conversion + unclassified + spot + loan + separate_fees + left_behind as other,
  rounding,
  computed_closing,
  closing,
  discrepancy
from analytics.monthly_rollforward
where account = 'main'
  and product_type = 'USDT-FUTURES'
  and month = '2026-03-01';

-- # Can March be closed: was every day read, and does every day add up?
select
  count(*) as days,
  count(*) filter (where is_complete) as completely_read,
  count(*) filter (where discrepancy = 0 and unreconciled = 0) as adding_up,
  count(*) filter (where unreconciled <> 0) as not_reconciled_yet
from analytics.daily_rollforward
where account = 'main'
  and product_type = 'USDT-FUTURES'
  and day >= '2026-03-01'
  and day < '2026-04-01';

-- # What did each contract earn in March, after fees and funding?
select
  symbol,
  sum(wallet_amount) filter (where category = 'trade') as realised_pnl,
  sum(wallet_fee) as fees,
  sum(wallet_amount) filter (where category = 'funding') as funding,
  sum(wallet_amount) filter (where category not in ('trade', 'funding')) as other,
  sum(wallet_amount + wallet_fee) as net
from analytics.entries
where account = 'main'
  and product_type = 'USDT-FUTURES'
  and symbol <> ''
  and day >= '2026-03-01'
  and day < '2026-04-01'
group by symbol
order by net desc;

-- # What are the fees of each month, and what part of them came back as rebates or was paid by coupons?
select
  date_trunc('month', day)::date as month,
  sum(fees_charged) as fees_charged,
  sum(fees_credited) as fees_credited,
  sum(fee_by_coupon) as fee_by_coupon
from analytics.by_symbol_day
where account = 'main'
  and product_type = 'USDT-FUTURES'
group by date_trunc('month', day)
order by month;

-- # What is the return of each month on its opening balance, transfers left out?
with results as (
  select
    month,
    opening,
    realised_pnl + fees_paid + fee_rebates + funding_received + funding_paid + liquidation + bonus
      + copy + delivery + interest + separate_fees + unclassified as result
  from analytics.monthly_rollforward
  where account = 'main'
    and product_type = 'USDT-FUTURES'
    and coin = 'USDT'
)
select month, opening, result, round(100 * result / nullif(opening, 0), 2) as percent
from results
order by month;

-- # What was the deepest drawdown of the trading result?
with results as (
  select
    day,
    sum(
      realised_pnl + fees_paid + fee_rebates + funding_received + funding_paid + liquidation + bonus
        + copy + delivery + interest + separate_fees + unclassified
    ) over (order by day) as result
  from analytics.daily_rollforward
  where account = 'main'
    and product_type = 'USDT-FUTURES'
    and coin = 'USDT'
),
peaks as (
  select day, result, greatest(max(result) over (order by day), 0) as peak
  from results
)
select day, peak, result, result - peak as drawdown
from peaks
order by drawdown, day
limit 1;

-- # What was the balance at a moment?
select distinct on (coin)
  coin,
  c_time as since,
  running_balance as balance
from analytics.activity
where account = 'main'
  and product_type = 'COIN-FUTURES'
  and c_time <= '2026-03-15T12:00:00Z'
order by coin, place desc;

-- # Which bills moved the balance most on a day?
select c_time, business_type, symbol, net, balance_before, balance_after
from analytics.activity
where account = 'main'
  and product_type = 'USDT-FUTURES'
  and day = '2026-03-20'
order by abs(net) desc, place
limit 5;

-- # What did liquidations cost?
select started_at, symbols, bills, amount, fee, swept, balance_left
from analytics.liquidations
where account = 'main'
  and product_type = 'USDT-FUTURES'
order by amount
limit 5;

-- # Which transfers have no other leg in this data?
select business_type, direction, count(*) as legs, sum(amount) as amount
from analytics.transfers
where account = 'main'
  and product_type = 'USDT-FUTURES'
  and state = 'unpaired'
group by business_type, direction
order by business_type;

-- # Which kinds of bill has nobody mapped, and what did they move?
select business_type, coin, count(*) as bills, sum(net) as net
from analytics.activity
where account = 'main'
  and category = 'unclassified'
group by business_type, coin
order by business_type, coin;

-- # How near is the institutional loan to its limit, and what counts as collateral?
select first_seen_at, ltv, usdt_balance, unpaid_usdt_amount, coin, amount, round(implied_haircut, 4) as haircut
from analytics.ltv_history
where account = 'main'
  and price is not null
order by first_seen_at desc, coin
limit 3;

-- # Through when is each ledger complete, and what was lost?
select
  product_type,
  state,
  date_trunc('minute', period_start) as period_start,
  date_trunc('minute', period_end) as period_end
from analytics.time_states
where account = 'main'
order by product_type, period_start;

-- # What is odd about the data?
select product_type, check_name, rows
from analytics.data_quality
where account = 'main'
order by product_type, check_name;
