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
chained as (
  select
    sums.*,
    -- Behind a day come those without bills, to the next one that has some.
    coalesce(
      lead(day) over chain - 1,
      greatest(day, (upper(covered.time) at time zone 'UTC')::date)
    ) as until
  from sums
  left join covered using (account, product_type)
  window chain as (partition by account, product_type, coin order by day)
),
days as (
  select
    chained.account,
    chained.product_type,
    chained.coin,
    -- Not a series of times: they are the session's, and where a night has no midnight it loses a day.
    chained.day + later as day,
    coalesce(own.realised_pnl, 0) as realised_pnl,
    coalesce(own.trading_fees, 0) as trading_fees,
    coalesce(own.fee_rebates, 0) as fee_rebates,
    coalesce(own.funding_received, 0) as funding_received,
    coalesce(own.funding_paid, 0) as funding_paid,
    coalesce(own.liquidation, 0) as liquidation,
    coalesce(own.transfers_in, 0) as transfers_in,
    coalesce(own.transfers_out, 0) as transfers_out,
    coalesce(own.bonus, 0) as bonus,
    coalesce(own.copy, 0) as copy,
    coalesce(own.delivery, 0) as delivery,
    coalesce(own.margin, 0) as margin,
    coalesce(own.interest, 0) as interest,
    coalesce(own.conversion, 0) as conversion,
    coalesce(own.unmapped, 0) as unmapped,
    coalesce(own.rounding, 0) as rounding,
    coalesce(own.difference, 0) as difference,
    coalesce(own.net, 0) as net,
    coalesce(own.bills, 0) as bills,
    max(chained.first_opening) over (
      partition by chained.account, chained.product_type, chained.coin
    )
      + sum(coalesce(own.net + own.rounding + own.difference, 0)) over (
        partition by chained.account, chained.product_type, chained.coin
        order by chained.day + later
      ) as reported_closing
  from chained
  cross join generate_series(0, chained.until - chained.day) as later
  left join lateral (select chained.* where later = 0) as own on true
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
--> statement-breakpoint

create or replace view analytics.transfers as
with spaced as (
  select
    account,
    product_type,
    coin,
    bill_id,
    c_time,
    business_type,
    amount,
    c_time - lag(c_time) over alike > interval '60 seconds' as is_after_pause
  from bills
  join business_types on code = business_type
  where category = 'transfer'
  window alike as (partition by account, coin, abs(amount) order by c_time, product_type, bill_id)
),
runs as (
  select
    spaced.*,
    count(*) filter (where is_after_pause) over (
      partition by account, coin, abs(amount)
      order by c_time, product_type, bill_id
    ) as run
  from spaced
),
legs as materialized (
  select
    runs.*,
    row_number() over (
      partition by account, coin, amount, run
      order by c_time, product_type, bill_id
    ) as place
  from runs
),
-- Of equal transfers in quick succession the first one sent is the first one received.
candidates as (
  select
    sent.account,
    sent.product_type as sent_product_type,
    sent.bill_id as sent_bill_id,
    sent.c_time as sent_time,
    received.product_type as received_product_type,
    received.bill_id as received_bill_id,
    received.c_time as received_time,
    row_number() over (
      partition by sent.account, sent.product_type, sent.bill_id
      order by
        sent.place <> received.place,
        abs(extract(epoch from received.c_time - sent.c_time)),
        received.place
    ) as best_of_sent,
    row_number() over (
      partition by received.account, received.product_type, received.bill_id
      order by
        sent.place <> received.place,
        abs(extract(epoch from received.c_time - sent.c_time)),
        sent.place
    ) as best_of_received
  from legs as sent
  join legs as received
    on received.account = sent.account
    and received.coin = sent.coin
    and received.amount = -sent.amount
    and received.run = sent.run
    and received.product_type <> sent.product_type
    and received.c_time between sent.c_time - interval '60 seconds' and sent.c_time + interval '60 seconds'
  where sent.amount < 0
),
pairs as (
  select *
  from candidates
  where best_of_sent = 1
    and best_of_received = 1
),
counterparts as (
  select
    account,
    sent_product_type as product_type,
    sent_bill_id as bill_id,
    received_product_type as counter_product_type,
    received_bill_id as counter_bill_id,
    received_time as counter_time
  from pairs
  union all
  select
    account,
    received_product_type,
    received_bill_id,
    sent_product_type,
    sent_bill_id,
    sent_time
  from pairs
)
select
  legs.account,
  legs.product_type,
  legs.coin,
  legs.product_type like 'S%' as is_demo,
  legs.bill_id,
  legs.c_time,
  legs.business_type,
  case when legs.amount < 0 then 'out' else 'in' end as direction,
  legs.amount,
  case when counterparts.bill_id is null then 'one_sided' else 'paired' end as state,
  counterparts.counter_product_type,
  counterparts.counter_bill_id,
  counterparts.counter_time
from legs
left join counterparts using (account, product_type, bill_id);
