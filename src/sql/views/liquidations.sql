create or replace view analytics.liquidations as
with parts as (
  select
    account,
    product_type,
    coin,
    is_demo,
    coalesce(symbol, '') as symbol,
    row_number() over (
      partition by account, product_type, coin
      order by (c_time at time zone 'UTC')::date, $chain_order
    ) as position,
    bill_id,
    c_time,
    amount,
    fee,
    -- A bill that shows no balance gets the running balance. Computing it reads all bills of the
    -- day.
    coalesce(
      balance,
      (
        select running_balance
        from analytics.activity
        where activity.account = entries.account
          and activity.product_type = entries.product_type
          and activity.coin = entries.coin
          and activity.day = (entries.c_time at time zone 'UTC')::date
          and activity.bill_id = entries.bill_id
      )
    ) as running_balance,
    business_type = 'risk_captital_user_transfer' as is_sweep
  from known_entries as entries
  where category = 'liquidation'
),
-- The last close before each bill: of its contract, or of any contract for a sweep that names none.
-- Each step reads the step before it once: a step that is read twice is computed for all accounts,
-- whichever are asked for.
placed as (
  select
    parts.*,
    case
      when is_sweep and symbol = '' then max(c_time) filter (where not is_sweep) over of_any
      else max(c_time) filter (where not is_sweep) over of_contract
    end as close_time
  from parts
  window
    of_any as (
      partition by account, product_type, coin
      order by position
      rows between unbounded preceding and 1 preceding
    ),
    of_contract as (
      partition by account, product_type, coin, symbol
      order by position
      rows between unbounded preceding and 1 preceding
    )
),
-- A liquidation is identified by the position of its first bill.
begun as (
  select
    placed.*,
    max(position) filter (
      where not is_sweep
        and (c_time - close_time <= interval '10 seconds') is not true
    ) over (
      partition by account, product_type, coin, symbol
      order by position
    ) as last_begun
  from placed
),
named as (
  select
    begun.*,
    case
      when not is_sweep then last_begun
      when c_time - close_time > interval '10 seconds' or close_time is null then null
      when symbol <> '' then last_begun
      -- The pair with the highest position: the last close, and the liquidation that it belongs to.
      else (
        max(array[position, last_begun]) filter (where not is_sweep) over (
          partition by account, product_type, coin
          order by position
        )
      )[2]
    end as event
  from begun
),
lone as (
  select
    named.*,
    c_time - lag(c_time) over (
      partition by account, product_type, coin, symbol, event is null
      order by position
    ) as pause
  from named
),
members as (
  select
    account,
    product_type,
    coin,
    is_demo,
    symbol,
    position,
    bill_id,
    c_time,
    amount,
    fee,
    running_balance,
    is_sweep,
    coalesce(
      event,
      max(position) filter (where (pause <= interval '10 seconds') is not true) over (
        partition by account, product_type, coin, symbol, event is null
        order by position
      )
    ) as event
  from lone
)
select
  account,
  product_type,
  coin,
  is_demo,
  (array_agg(symbol order by is_sweep, position))[1] as symbol,
  coalesce(min(c_time) filter (where not is_sweep), min(c_time)) as started_at,
  coalesce(max(c_time) filter (where not is_sweep), max(c_time)) as ended_at,
  coalesce(sum(amount) filter (where not is_sweep), 0) as amount,
  coalesce(sum(fee) filter (where not is_sweep), 0) as fee,
  count(*) filter (where not is_sweep) as bills,
  (array_agg(running_balance order by position desc) filter (where not is_sweep))[1] as balance_after,
  (array_agg(bill_id order by position) filter (where is_sweep))[1] as sweep_bill_id,
  (min(c_time) filter (where is_sweep))::timestamptz(3) as swept_at,
  sum(amount) filter (where is_sweep) as swept,
  (array_agg(running_balance order by position desc))[1] as balance_left,
  count(*) filter (where is_sweep) as sweeps,
  sum(fee) filter (where is_sweep) as sweep_fee,
  sum(amount + fee) as net
from members
group by account, product_type, coin, is_demo, event;

comment on view analytics.liquidations is
  'Liquidations. One row has the bills of one contract within ten seconds of each other, and the sweeps by the insurance fund, for this contract or for none, within ten seconds after one of them. Sweeps that follow no such bill have a row of their own. Every bill of the category is in exactly one row.';
comment on column analytics.liquidations.started_at is 'The time of the first bill, or of the first sweep if there are only sweeps.';
comment on column analytics.liquidations.ended_at is 'The time of the last bill, or of the last sweep if there are only sweeps.';
comment on column analytics.liquidations.amount is 'Profit and loss of its bills, without the sweeps.';
comment on column analytics.liquidations.fee is 'The fees of its bills, without the sweeps.';
comment on column analytics.liquidations.bills is 'How many bills it has, without the sweeps; 0 if there are only sweeps.';
comment on column analytics.liquidations.balance_after is 'The balance after its last bill, before the sweeps; null if there are only sweeps.';
comment on column analytics.liquidations.sweep_bill_id is 'The first bill by which the insurance fund took what was left, or paid what was missing; null if there is none.';
comment on column analytics.liquidations.swept_at is 'That bill''s time.';
comment on column analytics.liquidations.swept is 'The amounts of all its sweeps; null if there is none.';
comment on column analytics.liquidations.balance_left is 'The balance after all of its bills.';
comment on column analytics.liquidations.sweeps is 'How many sweeps it has.';
comment on column analytics.liquidations.sweep_fee is 'The fees of its sweeps; null if there is none.';
comment on column analytics.liquidations.net is 'The sum of all amounts and fees, of its bills and its sweeps.';
