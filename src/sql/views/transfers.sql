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
  from known_entries
  where has_transfer
    and category = 'transfer'
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

comment on view analytics.transfers is
  'Each leg of a transfer, with its counter-leg where that is in another product type of the same account.';
comment on column analytics.transfers.account is 'The account''s name in the configuration.';
comment on column analytics.transfers.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it.';
comment on column analytics.transfers.coin is 'The coin that all amounts of the row are in. Amounts of different coins are never added up.';
comment on column analytics.transfers.is_demo is 'Whether it is demo trading, which is not money.';
comment on column analytics.transfers.bill_id is 'The exchange''s id of the bill: text, since it does not fit a floating-point number.';
comment on column analytics.transfers.c_time is 'When the exchange made the bill, to the millisecond.';
comment on column analytics.transfers.business_type is 'The kind of bill, as the exchange names it.';
comment on column analytics.transfers.direction is 'in or out, seen from this product type.';
comment on column analytics.transfers.amount is 'Signed.';
comment on column analytics.transfers.state is 'paired: the counter-leg was found, opposite in amount, within a minute. one_sided: the other leg is not in this data.';
comment on column analytics.transfers.counter_product_type is 'Where the other leg is.';
comment on column analytics.transfers.counter_bill_id is 'Its bill.';
comment on column analytics.transfers.counter_time is 'Its time.';
