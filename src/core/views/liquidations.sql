create or replace view analytics.liquidations as
with spaced as (
  select
    account,
    product_type,
    coin,
    symbol,
    c_time,
    amount,
    fee,
    balance,
    business_type = 'risk_captital_user_transfer' as is_sweep,
    row_number() over chain as position,
    c_time - lag(c_time) over chain > interval '10 seconds' as is_after_pause
  from rare_entries
  where category = 'liquidation'
  window chain as (
    partition by account, product_type, coin
    order by (c_time at time zone 'UTC')::date, $chain_order
  )
),
events as (
  select
    spaced.*,
    count(*) filter (where is_after_pause) over (
      partition by account, product_type, coin
      order by position
    ) as event
  from spaced
)
select
  account,
  product_type,
  coin,
  array_agg(distinct symbol) filter (where symbol <> '') as symbols,
  min(c_time) as started_at,
  max(c_time) as ended_at,
  coalesce(sum(amount) filter (where not is_sweep), 0) as amount,
  coalesce(sum(fee) filter (where not is_sweep), 0) as fee,
  count(*) filter (where not is_sweep) as bills,
  sum(amount) filter (where is_sweep) as swept,
  (array_agg(balance order by position desc) filter (where balance is not null))[1] as balance_left,
  count(*) filter (where is_sweep) as sweeps,
  sum(fee) filter (where is_sweep) as sweep_fee,
  sum(amount + fee) as net
from events
group by account, product_type, coin, event;

comment on view analytics.liquidations is
  'One row for each liquidation: bills of one coin, of any contracts, each within ten seconds of the one before, and the insurance fund''s sweeps among them. Every bill of the category is in one row.';

comment on column analytics.liquidations.symbols is 'The contracts that its bills name; null if no bill names one.';
comment on column analytics.liquidations.started_at is 'The time of the first bill.';
comment on column analytics.liquidations.ended_at is 'The time of the last bill.';
comment on column analytics.liquidations.amount is 'Profit and loss of its bills, without the sweeps.';
comment on column analytics.liquidations.fee is 'The fees of its bills, without the sweeps.';
comment on column analytics.liquidations.bills is 'How many bills it has, without the sweeps; 0 if there are only sweeps.';
comment on column analytics.liquidations.swept is 'What the insurance fund took of what was left, or paid of what was missing; null if there is no sweep.';
comment on column analytics.liquidations.balance_left is 'The last balance that one of its bills shows.';
comment on column analytics.liquidations.sweeps is 'How many sweeps it has.';
comment on column analytics.liquidations.sweep_fee is 'The fees of its sweeps; null if there is none.';
comment on column analytics.liquidations.net is 'The sum of all amounts and fees, of its bills and its sweeps.';
