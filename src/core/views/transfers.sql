-- The join of the legs must let filters through: a query for one account must not read the legs of
-- others.
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
    -- Where a type of futures says that it came from or went: exchange is spot, contract other futures.
    substring(business_type from '^trans_(?:from|to)_(.+)$') as counter_wallet,
    case when product_type = 'SPOT' then 'exchange' else 'contract' end as wallet,
    c_time - lag(c_time) over alike > interval '60 seconds' as is_after_pause
  from rare_entries
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
legs as not materialized (
  select
    runs.*,
    row_number() over (
      partition by account, coin, amount, run
      order by c_time, product_type, bill_id
    ) as place
  from runs
),
candidates as (
  select
    leg.account,
    leg.product_type,
    leg.coin,
    leg.bill_id,
    leg.c_time,
    leg.business_type,
    leg.amount,
    other.product_type as counter_product_type,
    other.bill_id as counter_bill_id,
    other.c_time as counter_time,
    leg.place,
    other.place as counter_place,
    leg.place <> other.place as is_out_of_step,
    abs(extract(epoch from other.c_time - leg.c_time)) as distance
  from legs as leg
  left join legs as other
    on other.account = leg.account
    and other.coin = leg.coin
    and other.amount = -leg.amount
    and other.run = leg.run
    and other.product_type <> leg.product_type
    and other.c_time between leg.c_time - interval '60 seconds' and leg.c_time + interval '60 seconds'
    and leg.amount <> 0
    and coalesce(leg.counter_wallet, other.wallet) = other.wallet
    and coalesce(other.counter_wallet, leg.wallet) = leg.wallet
),
-- Of equal transfers in quick succession, legs that are the nearest to each other are a pair: in public answers they
-- were 24 to 54 ms apart. Of the legs that are left, the first sent is taken for the first received.
nearest as (
  select
    candidates.*,
    counter_bill_id is not null
      and 1 = row_number() over (
        partition by account, product_type, bill_id
        order by distance, is_out_of_step, counter_place
      )
      and 1 = row_number() over (
        partition by account, counter_product_type, counter_bill_id
        order by distance, is_out_of_step, place
      ) as is_nearest
  from candidates
),
matched as (
  select
    nearest.*,
    bool_or(is_nearest) over (partition by account, product_type, bill_id) as is_leg_matched,
    bool_or(is_nearest) over (
      partition by account, counter_product_type, counter_bill_id
    ) as is_counter_matched
  from nearest
),
ranked as (
  select
    matched.*,
    row_number() over (
      partition by account, product_type, bill_id
      order by is_nearest desc, is_counter_matched, is_out_of_step, distance, counter_place
    ) as best_of_leg,
    row_number() over (
      partition by account, counter_product_type, counter_bill_id
      order by is_nearest desc, is_leg_matched, is_out_of_step, distance, place
    ) as best_of_counter
  from matched
)
select
  account,
  product_type,
  coin,
  bill_id,
  c_time,
  business_type,
  case when amount < 0 then 'out' else 'in' end as direction,
  amount,
  case when best_of_counter = 1 and counter_bill_id is not null then 'paired' else 'unpaired' end as state,
  case when best_of_counter = 1 then counter_product_type end as counter_product_type,
  case when best_of_counter = 1 then counter_bill_id end as counter_bill_id,
  case when best_of_counter = 1 then counter_time end as counter_time,
  meaning
from ranked
left join business_types on code = business_type
where best_of_leg = 1;

comment on view analytics.transfers is
  'One row for each leg of a transfer, with its other leg if that is in another product type of the same account: legs of equal amounts within a minute, the nearest first.';
comment on column analytics.transfers.meaning is 'Where the transfer went or came from, as its type says.';
comment on column analytics.transfers.direction is 'in or out, seen from this product type.';
comment on column analytics.transfers.state is 'paired: a leg with the opposite amount was found within a minute. unpaired: none was found in this account.';
comment on column analytics.transfers.counter_product_type is 'The product type of the other leg.';
comment on column analytics.transfers.counter_bill_id is 'The bill of the other leg.';
comment on column analytics.transfers.counter_time is 'The time of the other leg.';
