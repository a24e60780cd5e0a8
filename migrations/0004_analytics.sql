create schema if not exists analytics;
--> statement-breakpoint
comment on schema analytics is
  'The documented face of the ledger: days are UTC, coins are never added up, columns are only ever added.';
--> statement-breakpoint

create view analytics.activity as
with entries as (
  select
    bills.account,
    bills.product_type,
    bills.coin,
    bills.bill_id,
    bills.c_time,
    coalesce(bill_order.place, 0) as place,
    bills.symbol,
    bills.business_type,
    coalesce(business_types.category, 'unknown') as category,
    bills.amount,
    bills.fee,
    bills.fee_by_coupon,
    bills.balance,
    case
      when coalesce(counts_amount, coalesce(business_types.category, '') <> 'margin') then bills.amount
      else 0
    end as wallet_amount,
    case
      when coalesce(counts_fee, coalesce(business_types.category, '') <> 'margin') then bills.fee
      else 0
    end
    + case when counts_coupon then coalesce(bills.fee_by_coupon, 0) else 0 end as wallet_fee
  from bills
  left join business_types on business_types.code = bills.business_type
  left join wallet_rules
    on wallet_rules.account = bills.account
    and wallet_rules.product_type = bills.product_type
    and wallet_rules.category = business_types.category
  left join bill_order
    on bill_order.account = bills.account
    and bill_order.product_type = bills.product_type
    and bill_order.bill_id = bills.bill_id
),
chained as (
  select
    entries.*,
    row_number() over chain as position,
    sum(wallet_amount + wallet_fee) over chain as moved,
    -- Bills that show no balance belong to the stretch that the last one which does has begun.
    greatest(count(balance) over chain, 1) as stretch
  from entries
  window chain as (
    partition by account, product_type, coin
    order by c_time, place, length(bill_id), bill_id
    rows unbounded preceding
  )
),
based as (
  select
    chained.*,
    max(balance - moved) over (partition by account, product_type, coin, stretch) as base,
    count(*) over (partition by account, product_type, coin, stretch) as bills
  from chained
),
linked as (
  select
    based.*,
    base - coalesce(lag(base) over chain, base) as off,
    -- Each bill since the last balance may have been rounded by one unit in the last place.
    abs(base - lag(base) over chain) <= 0.00000001 * lag(bills) over chain as is_rounding
  from based
  window chain as (partition by account, product_type, coin order by position)
)
select
  account,
  product_type,
  coin,
  product_type like 'S%' as is_demo,
  position,
  bill_id,
  c_time,
  (c_time at time zone 'UTC')::date as day,
  symbol,
  business_type,
  category,
  amount,
  fee,
  fee_by_coupon,
  wallet_amount,
  wallet_fee,
  wallet_amount + wallet_fee as net,
  base + moved - wallet_amount - wallet_fee - off as balance_before,
  balance as balance_after,
  base + moved as running_balance,
  case when is_rounding then off else 0 end as rounding,
  case when is_rounding then 0 else off end as difference
from linked;
--> statement-breakpoint

create view analytics.coverage as
with known as (
  select
    account,
    product_type,
    state,
    unnest(range_agg(tstzrange(window_start, window_end))) as span
  from checkpoints
  where state in ('complete', 'expired')
  group by account, product_type, state
),
missing as (
  select
    account,
    product_type,
    'missing' as state,
    unnest(
      tstzmultirange(tstzrange(min(lower(span)), max(upper(span)))) - range_agg(span)
    ) as span
  from known
  group by account, product_type
)
select
  account,
  product_type,
  state,
  lower(span) as covered_from,
  upper(span) as covered_to,
  upper(span) - lower(span) as length
from (
  select account, product_type, state, span from known
  union all
  select account, product_type, state, span from missing
) as spans;
--> statement-breakpoint

create view analytics.daily_rollforward as
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
calendar as (
  select
    chain.account,
    chain.product_type,
    chain.coin,
    generate_series(
      chain.first_day,
      greatest(chain.last_day, (upper(covered.time) at time zone 'UTC')::date),
      interval '1 day'
    )::date as day
  from (
    select account, product_type, coin, min(day) as first_day, max(day) as last_day
    from sums
    group by account, product_type, coin
  ) as chain
  left join covered using (account, product_type)
),
days as (
  select
    account,
    product_type,
    coin,
    day,
    coalesce(realised_pnl, 0) as realised_pnl,
    coalesce(trading_fees, 0) as trading_fees,
    coalesce(fee_rebates, 0) as fee_rebates,
    coalesce(funding_received, 0) as funding_received,
    coalesce(funding_paid, 0) as funding_paid,
    coalesce(liquidation, 0) as liquidation,
    coalesce(transfers_in, 0) as transfers_in,
    coalesce(transfers_out, 0) as transfers_out,
    coalesce(bonus, 0) as bonus,
    coalesce(copy, 0) as copy,
    coalesce(delivery, 0) as delivery,
    coalesce(margin, 0) as margin,
    coalesce(interest, 0) as interest,
    coalesce(conversion, 0) as conversion,
    coalesce(unmapped, 0) as unmapped,
    coalesce(rounding, 0) as rounding,
    coalesce(difference, 0) as difference,
    coalesce(net, 0) as net,
    coalesce(bills, 0) as bills,
    max(first_opening) over (partition by account, product_type, coin)
      + sum(coalesce(net, 0) + coalesce(rounding, 0) + coalesce(difference, 0)) over (
        partition by account, product_type, coin
        order by day
      ) as reported_closing
  from calendar
  left join sums using (account, product_type, coin, day)
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

create view analytics.monthly_rollforward as
select
  account,
  product_type,
  coin,
  is_demo,
  date_trunc('month', day)::date as month,
  (array_agg(opening order by day))[1] as opening,
  sum(realised_pnl) as realised_pnl,
  sum(trading_fees) as trading_fees,
  sum(fee_rebates) as fee_rebates,
  sum(funding_received) as funding_received,
  sum(funding_paid) as funding_paid,
  sum(liquidation) as liquidation,
  sum(transfers_in) as transfers_in,
  sum(transfers_out) as transfers_out,
  sum(bonus) as bonus,
  sum(copy) as copy,
  sum(delivery) as delivery,
  sum(margin) as margin,
  sum(interest) as interest,
  sum(conversion) as conversion,
  sum(unmapped) as unmapped,
  sum(rounding) as rounding,
  (array_agg(opening order by day))[1]
    + sum(
      realised_pnl + trading_fees + fee_rebates + funding_received + funding_paid + liquidation
        + transfers_in + transfers_out + bonus + copy + delivery + margin + interest + conversion
        + unmapped + rounding
    ) as computed_closing,
  (array_agg(reported_closing order by day desc))[1] as reported_closing,
  sum(difference) as difference,
  sum(bills)::bigint as bills,
  bool_and(is_complete)
    and count(*) = extract(day from date_trunc('month', day) + interval '1 month - 1 day') as is_complete
from analytics.daily_rollforward
group by account, product_type, coin, is_demo, date_trunc('month', day);
--> statement-breakpoint

create view analytics.month_end_balances as
select
  account,
  product_type,
  coin,
  is_demo,
  month,
  (month + interval '1 month - 1 day')::date as month_end,
  reported_closing as balance,
  bills,
  is_complete
from analytics.monthly_rollforward;
--> statement-breakpoint

create view analytics.funding_by_symbol_day as
select
  account,
  product_type,
  coin,
  product_type like 'S%' as is_demo,
  (c_time at time zone 'UTC')::date as day,
  coalesce(symbol, '') as symbol,
  coalesce(sum(amount) filter (where amount > 0), 0) as received,
  coalesce(sum(amount) filter (where amount < 0), 0) as paid,
  sum(amount) as net,
  count(*) as bills
from bills
join business_types on code = business_type
where category = 'funding'
group by account, product_type, coin, day, coalesce(symbol, '');
--> statement-breakpoint

create view analytics.fees_by_symbol_day as
select
  account,
  product_type,
  coin,
  product_type like 'S%' as is_demo,
  (c_time at time zone 'UTC')::date as day,
  coalesce(symbol, '') as symbol,
  coalesce(sum(fee) filter (where fee < 0), 0) as fees,
  coalesce(sum(fee) filter (where fee > 0), 0) as rebates,
  coalesce(sum(fee_by_coupon), 0) as paid_by_coupon,
  sum(fee) as net,
  count(*) as bills
from bills
where fee <> 0
  or fee_by_coupon <> 0
group by account, product_type, coin, day, coalesce(symbol, '');
--> statement-breakpoint

create view analytics.realised_pnl_by_symbol_day as
select
  account,
  product_type,
  coin,
  product_type like 'S%' as is_demo,
  (c_time at time zone 'UTC')::date as day,
  coalesce(symbol, '') as symbol,
  coalesce(sum(amount) filter (where amount > 0), 0) as profit,
  coalesce(sum(amount) filter (where amount < 0), 0) as loss,
  sum(amount) as net,
  count(*) as bills
from bills
join business_types on code = business_type
where category = 'trade'
  and amount <> 0
group by account, product_type, coin, day, coalesce(symbol, '');
--> statement-breakpoint

create view analytics.liquidations as
with closes as (
  select
    account,
    product_type,
    coin,
    coalesce(symbol, '') as symbol,
    position,
    bill_id,
    c_time,
    amount,
    fee,
    running_balance,
    c_time - lag(c_time) over same_symbol > interval '10 seconds' as begins
  from analytics.activity
  where category = 'liquidation'
    and business_type <> 'risk_captital_user_transfer'
  window same_symbol as (
    partition by account, product_type, coin, coalesce(symbol, '')
    order by position
  )
),
numbered as (
  select
    closes.*,
    count(*) filter (where coalesce(begins, true)) over (
      partition by account, product_type, coin, symbol
      order by position
    ) as liquidation
  from closes
),
events as (
  select
    account,
    product_type,
    coin,
    symbol,
    min(c_time) as started_at,
    max(c_time) as ended_at,
    sum(amount) as amount,
    sum(fee) as fee,
    count(*) as bills,
    max(position) as last_position,
    (array_agg(running_balance order by position desc))[1] as balance_after
  from numbered
  group by account, product_type, coin, symbol, liquidation
),
sweeps as (
  select
    account,
    product_type,
    coin,
    coalesce(symbol, '') as symbol,
    position,
    bill_id,
    c_time,
    amount,
    running_balance
  from analytics.activity
  where business_type = 'risk_captital_user_transfer'
)
select distinct on (events.account, events.product_type, events.coin, events.symbol, events.started_at)
  events.account,
  events.product_type,
  events.coin,
  events.product_type like 'S%' as is_demo,
  events.symbol,
  events.started_at,
  events.ended_at,
  events.amount,
  events.fee,
  events.bills,
  events.balance_after,
  sweeps.bill_id as sweep_bill_id,
  sweeps.c_time as swept_at,
  sweeps.amount as swept,
  coalesce(sweeps.running_balance, events.balance_after) as balance_left
from events
left join sweeps
  on sweeps.account = events.account
  and sweeps.product_type = events.product_type
  and sweeps.coin = events.coin
  and sweeps.symbol in (events.symbol, '')
  and sweeps.position > events.last_position
  and sweeps.c_time <= events.ended_at + interval '10 seconds'
order by
  events.account,
  events.product_type,
  events.coin,
  events.symbol,
  events.started_at,
  sweeps.position;
--> statement-breakpoint

create view analytics.transfers as
with legs as materialized (
  select account, product_type, coin, bill_id, c_time, business_type, amount
  from bills
  join business_types on code = business_type
  where category = 'transfer'
),
candidates as (
  select
    leg.account,
    leg.product_type,
    leg.bill_id,
    counter.product_type as counter_product_type,
    counter.bill_id as counter_bill_id,
    counter.c_time as counter_time,
    row_number() over (
      partition by leg.account, leg.product_type, leg.bill_id
      order by abs(extract(epoch from counter.c_time - leg.c_time)), counter.product_type, counter.bill_id
    ) as nearest,
    row_number() over (
      partition by leg.account, counter.product_type, counter.bill_id
      order by abs(extract(epoch from counter.c_time - leg.c_time)), leg.product_type, leg.bill_id
    ) as nearest_of_counter
  from legs as leg
  join legs as counter
    on counter.account = leg.account
    and counter.coin = leg.coin
    and counter.amount = -leg.amount
    and counter.product_type <> leg.product_type
    and counter.c_time between leg.c_time - interval '60 seconds' and leg.c_time + interval '60 seconds'
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
  case when candidates.bill_id is null then 'one_sided' else 'paired' end as state,
  candidates.counter_product_type,
  candidates.counter_bill_id,
  candidates.counter_time
from legs
left join candidates
  on candidates.account = legs.account
  and candidates.product_type = legs.product_type
  and candidates.bill_id = legs.bill_id
  and candidates.nearest = 1
  and candidates.nearest_of_counter = 1;
--> statement-breakpoint

create view analytics.bonuses as
select
  account,
  product_type,
  coin,
  is_demo,
  bill_id,
  c_time,
  business_type,
  case
    when business_type like '%\_issue' then 'issued'
    when business_type like '%\_recycle' then 'taken back'
    when business_type like '%\_expired' then 'expired'
    else 'other'
  end as event,
  amount,
  sum(amount) over (
    partition by account, product_type, coin
    order by position
  ) as outstanding
from analytics.activity
where category = 'bonus';
--> statement-breakpoint

create view analytics.ltv_history as
select
  ltv_snapshots.account,
  ltv_snapshots.risk_unit_id,
  ltv_snapshots.taken_at,
  ltv_snapshots.held_until,
  ltv_snapshots.ltv,
  ltv_snapshots.usdt_balance,
  ltv_snapshots.unpaid_usdt_amount,
  parts.coin,
  parts.price,
  parts.amount,
  parts.converted_usdt_amount,
  1 - parts.converted_usdt_amount / nullif(parts.price * parts.amount, 0) as implied_haircut,
  parts.unpaid_qty,
  parts.unpaid_interest
from ltv_snapshots
left join (
  ltv_collateral
  full join ltv_debts using (account, risk_unit_id, taken_at, coin)
) as parts
  using (account, risk_unit_id, taken_at);
--> statement-breakpoint

create view analytics.symbol_history as
select
  versions.symbol,
  versions.valid_from,
  versions.valid_to,
  array(
    select fields.name
    from jsonb_each_text(to_jsonb(versions)) as fields (name, value)
    where fields.name not in ('symbol', 'valid_from', 'valid_to', 'before')
      and versions.before is not null
      and fields.value is distinct from versions.before ->> fields.name
    order by fields.name
  ) as changed,
  versions.base_coin,
  versions.quote_coin,
  versions.status,
  versions.maker_fee_rate,
  versions.taker_fee_rate,
  versions.min_trade_amount,
  versions.max_trade_amount,
  versions.min_trade_usdt,
  versions.price_precision,
  versions.quantity_precision,
  versions.quote_precision,
  versions.buy_limit_price_ratio,
  versions.sell_limit_price_ratio,
  versions.area_symbol,
  versions.order_quantity,
  versions.open_time,
  versions.off_time
from (
  select
    symbol_versions.*,
    lag(to_jsonb(symbol_versions)) over (partition by symbol order by valid_from) as before
  from symbol_versions
) as versions;
--> statement-breakpoint

create view analytics.data_quality as
with checks as (
  select
    account,
    product_type,
    'quarantined rows' as check,
    rejected_at as seen_at
  from rejected_bills
  where resolved_at is null
  union all
  select account, product_type, 'restatements', replaced_at
  from bill_revisions
  union all
  select account, product_type, 'bills without a balance', c_time
  from bills
  where balance is null
  union all
  select account, product_type, 'bills of an unmapped type', c_time
  from bills
  left join business_types on code = business_type
  where coalesce(category, 'unknown') = 'unknown'
  union all
  -- An id holds its time: so many of its upper bits are milliseconds since 2015-06-30.
  select account, product_type, 'ids that tell another time', c_time
  from bills
  where case
      when bill_id ~ '^[0-9]{1,30}$' then
        abs(
          div(bill_id::numeric, 4194304) + 1435725920677 - extract(epoch from c_time) * 1000
        ) > 1000
      else true
    end
  union all
  select account, product_type, 'bills with fields that no contract lists', c_time
  from bills
  where extra is not null
  union all
  select account, product_type, 'breaks in the balance', c_time
  from analytics.activity
  where difference <> 0
  union all
  select account, product_type, 'balances off by one unit in the last place', c_time
  from analytics.activity
  where rounding <> 0
  union all
  select account, product_type, 'time that was not read', covered_from
  from analytics.coverage
  where state <> 'complete'
)
select
  account,
  product_type,
  product_type like 'S%' as is_demo,
  "check",
  count(*) as rows,
  min(seen_at) as first_at,
  max(seen_at) as last_at
from checks
group by account, product_type, "check";
--> statement-breakpoint

-- What a column means in every view that has it.
do $comments$
declare
  meanings constant jsonb := $json${
    "account": "The account's name in the configuration.",
    "product_type": "USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it.",
    "coin": "The coin that all amounts of the row are in. Amounts of different coins are never added up.",
    "is_demo": "Whether it is demo trading, which is not money.",
    "day": "The UTC day.",
    "month": "The first UTC day of the month.",
    "symbol": "The contract, as the exchange names it; empty where a bill has none.",
    "bill_id": "The exchange's id of the bill: text, since it does not fit a floating-point number.",
    "c_time": "When the exchange made the bill, to the millisecond.",
    "business_type": "The kind of bill, as the exchange names it.",
    "bills": "How many bills are in the row's sums.",
    "is_complete": "Whether all of the time was proven to be read; until then numbers may still grow.",
    "opening": "The balance before the first bill. Null where no bill of the ledger shows a balance.",
    "realised_pnl": "Profit and loss of closed positions, fees not included.",
    "trading_fees": "Fees paid, negative.",
    "fee_rebates": "Fees received as a maker, positive.",
    "funding_received": "Funding fees received, positive.",
    "funding_paid": "Funding fees paid, negative.",
    "liquidation": "Profit and loss of liquidations and auto-deleveraging, and what the insurance fund took or gave.",
    "transfers_in": "Transfers into this product type, positive.",
    "transfers_out": "Transfers out of it, negative.",
    "bonus": "Bonuses, coupons and grants: issued, taken back, expired.",
    "copy": "Copy trading: paid, cashed back, earned as the trader who is copied.",
    "delivery": "Settlement of delivery contracts.",
    "margin": "Margin moved in or out of positions, where it moves the balance; mostly it does not.",
    "interest": "Interest settled.",
    "conversion": "Coins bought or sold by conversion.",
    "unmapped": "Bills of a type that nobody put into a category.",
    "rounding": "Balances that the exchange prints one unit in the last place off their own bills, added up.",
    "computed_closing": "Opening, all categories and rounding, added up.",
    "reported_closing": "The last balance that the exchange showed, moved on by later bills that show none.",
    "difference": "What the exchange's balance is off the sum of the bills: zero, unless a bill is missing or wrong.",
    "net": "All of it added up."
  }$json$;
  target record;
begin
  for target in
    select relname, attname
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where relnamespace = 'analytics'::regnamespace
      and relkind = 'v'
      and attnum > 0
  loop
    if meanings ? target.attname then
      execute format(
        'comment on column analytics.%I.%I is %L',
        target.relname, target.attname, meanings ->> target.attname
      );
    end if;
  end loop;
end
$comments$;
--> statement-breakpoint

comment on view analytics.activity is
  'One row a bill, in the order in which the balance moved: by time, by id, and within a millisecond by what chains.';
--> statement-breakpoint
comment on column analytics.activity."position" is 'The bill''s place in the chain of its account, product type and coin, from 1.';
--> statement-breakpoint
comment on column analytics.activity.category is 'What the bill is about: trade, funding, transfer and so on; unknown where nobody mapped its type.';
--> statement-breakpoint
comment on column analytics.activity.amount is 'The bill''s amount as it was served, signed, without the fee.';
--> statement-breakpoint
comment on column analytics.activity.fee is 'The bill''s fee as it was served, signed: negative is paid.';
--> statement-breakpoint
comment on column analytics.activity.fee_by_coupon is 'What a coupon paid of the fee.';
--> statement-breakpoint
comment on column analytics.activity.wallet_amount is 'The part of the amount that moves the balance: all of it or nothing, as its category was learned.';
--> statement-breakpoint
comment on column analytics.activity.wallet_fee is 'The part of fee and coupon that moves the balance.';
--> statement-breakpoint
comment on column analytics.activity.net is 'What the bill moves the balance by: wallet_amount and wallet_fee.';
--> statement-breakpoint
comment on column analytics.activity.balance_before is 'The balance before the bill, by the bills before it.';
--> statement-breakpoint
comment on column analytics.activity.balance_after is 'The balance after it, as it was served; null where it was not.';
--> statement-breakpoint
comment on column analytics.activity.running_balance is 'The balance after it: as served, or by its bills since the last one that shows it.';
--> statement-breakpoint
comment on column analytics.activity.rounding is 'What the served balance is off by rounding: at most one unit in the eighth place a bill.';
--> statement-breakpoint
comment on column analytics.activity.difference is 'The served balance less the balance before, the net and the rounding: zero where the chain holds.';
--> statement-breakpoint
comment on view analytics.coverage is
  'Which time of a product type was read: one row a stretch, apart from each other.';
--> statement-breakpoint
comment on column analytics.coverage.state is 'complete: proven to be read. expired: lost behind the exchange''s 90 days. missing: not read yet.';
--> statement-breakpoint
comment on column analytics.coverage.covered_from is 'Where the stretch begins; it belongs to it.';
--> statement-breakpoint
comment on column analytics.coverage.covered_to is 'Where it ends; the moment itself does not belong to it.';
--> statement-breakpoint
comment on column analytics.coverage.length is 'How long it is.';
--> statement-breakpoint
comment on view analytics.daily_rollforward is
  'How each day''s balance came about: opening, every category, closing. One row a day from the first bill to the end of coverage.';
--> statement-breakpoint
comment on view analytics.monthly_rollforward is
  'The same by month.';
--> statement-breakpoint
comment on view analytics.month_end_balances is
  'The balance at the end of each month.';
--> statement-breakpoint
comment on column analytics.month_end_balances.month_end is 'The last UTC day of the month.';
--> statement-breakpoint
comment on column analytics.month_end_balances.balance is 'The balance after the month''s last bill.';
--> statement-breakpoint
comment on view analytics.funding_by_symbol_day is
  'Funding fees, by contract and day.';
--> statement-breakpoint
comment on column analytics.funding_by_symbol_day.received is 'Received, positive.';
--> statement-breakpoint
comment on column analytics.funding_by_symbol_day.paid is 'Paid, negative.';
--> statement-breakpoint
comment on column analytics.funding_by_symbol_day.net is 'Both added up.';
--> statement-breakpoint
comment on view analytics.fees_by_symbol_day is
  'Trading fees, by contract and day.';
--> statement-breakpoint
comment on column analytics.fees_by_symbol_day.fees is 'Paid, negative.';
--> statement-breakpoint
comment on column analytics.fees_by_symbol_day.rebates is 'Received as a maker, positive.';
--> statement-breakpoint
comment on column analytics.fees_by_symbol_day.paid_by_coupon is 'What coupons paid.';
--> statement-breakpoint
comment on column analytics.fees_by_symbol_day.net is 'Fees and rebates added up, coupons not.';
--> statement-breakpoint
comment on view analytics.realised_pnl_by_symbol_day is
  'Profit and loss of closed positions without fees, by contract and day; liquidations and deliveries are not in it.';
--> statement-breakpoint
comment on column analytics.realised_pnl_by_symbol_day.profit is 'Of bills that won, positive.';
--> statement-breakpoint
comment on column analytics.realised_pnl_by_symbol_day.loss is 'Of bills that lost, negative.';
--> statement-breakpoint
comment on column analytics.realised_pnl_by_symbol_day.net is 'Both added up.';
--> statement-breakpoint
comment on view analytics.liquidations is
  'Liquidations: bills of one contract within ten seconds of each other, and the insurance fund''s sweep, of the contract or of none, within ten seconds after.';
--> statement-breakpoint
comment on column analytics.liquidations.started_at is 'The first bill''s time.';
--> statement-breakpoint
comment on column analytics.liquidations.ended_at is 'The last bill''s.';
--> statement-breakpoint
comment on column analytics.liquidations.amount is 'Profit and loss of its bills.';
--> statement-breakpoint
comment on column analytics.liquidations.fee is 'Their fees.';
--> statement-breakpoint
comment on column analytics.liquidations.balance_after is 'The balance after its last bill.';
--> statement-breakpoint
comment on column analytics.liquidations.sweep_bill_id is 'The bill by which the insurance fund took what was left, or paid what was missing; null where there is none.';
--> statement-breakpoint
comment on column analytics.liquidations.swept_at is 'That bill''s time.';
--> statement-breakpoint
comment on column analytics.liquidations.swept is 'That bill''s amount.';
--> statement-breakpoint
comment on column analytics.liquidations.balance_left is 'The balance after both.';
--> statement-breakpoint
comment on view analytics.transfers is
  'Each leg of a transfer, with its counter-leg where that is in another product type of the same account.';
--> statement-breakpoint
comment on column analytics.transfers.direction is 'in or out, seen from this product type.';
--> statement-breakpoint
comment on column analytics.transfers.amount is 'Signed.';
--> statement-breakpoint
comment on column analytics.transfers.state is 'paired: the counter-leg was found, opposite in amount, within a minute. one_sided: the other leg is not in this data.';
--> statement-breakpoint
comment on column analytics.transfers.counter_product_type is 'Where the other leg is.';
--> statement-breakpoint
comment on column analytics.transfers.counter_bill_id is 'Its bill.';
--> statement-breakpoint
comment on column analytics.transfers.counter_time is 'Its time.';
--> statement-breakpoint
comment on view analytics.bonuses is
  'Bonuses, coupons and grants, with what of them is outstanding.';
--> statement-breakpoint
comment on column analytics.bonuses.event is 'issued, taken back, expired or other.';
--> statement-breakpoint
comment on column analytics.bonuses.amount is 'Signed.';
--> statement-breakpoint
comment on column analytics.bonuses.outstanding is 'All of them so far, added up.';
--> statement-breakpoint
comment on view analytics.ltv_history is
  'Institutional loans: one row a snapshot and coin; several rows share a snapshot''s totals.';
--> statement-breakpoint
comment on column analytics.ltv_history.risk_unit_id is 'The risk unit as it was asked for; empty for the account''s own.';
--> statement-breakpoint
comment on column analytics.ltv_history.taken_at is 'When this record was first seen.';
--> statement-breakpoint
comment on column analytics.ltv_history.held_until is 'Until when it was seen unchanged.';
--> statement-breakpoint
comment on column analytics.ltv_history.ltv is 'The loan-to-value ratio as it was served.';
--> statement-breakpoint
comment on column analytics.ltv_history.usdt_balance is 'Total assets in USDT as served.';
--> statement-breakpoint
comment on column analytics.ltv_history.unpaid_usdt_amount is 'Total debt in USDT as served.';
--> statement-breakpoint
comment on column analytics.ltv_history.price is 'The collateral coin''s price in USDT.';
--> statement-breakpoint
comment on column analytics.ltv_history.amount is 'How much of it there is.';
--> statement-breakpoint
comment on column analytics.ltv_history.converted_usdt_amount is 'What it counts for in USDT.';
--> statement-breakpoint
comment on column analytics.ltv_history.implied_haircut is 'The share of its value that does not count: 1 - converted / (price x amount).';
--> statement-breakpoint
comment on column analytics.ltv_history.unpaid_qty is 'Debt in the coin.';
--> statement-breakpoint
comment on column analytics.ltv_history.unpaid_interest is 'Interest on it.';
--> statement-breakpoint
comment on view analytics.symbol_history is
  'Every version of a spot pair''s settings, with what changed against the one before.';
--> statement-breakpoint
comment on column analytics.symbol_history.valid_from is 'Since when the version was seen to hold.';
--> statement-breakpoint
comment on column analytics.symbol_history.valid_to is 'Until when; null while it holds.';
--> statement-breakpoint
comment on column analytics.symbol_history.changed is 'The columns that changed against the version before; empty for the first.';
--> statement-breakpoint
comment on column analytics.symbol_history.base_coin is 'The coin that is traded.';
--> statement-breakpoint
comment on column analytics.symbol_history.quote_coin is 'The coin that prices are in.';
--> statement-breakpoint
comment on column analytics.symbol_history.status is 'Whether the pair trades, as the exchange says it.';
--> statement-breakpoint
comment on column analytics.symbol_history.maker_fee_rate is 'As a share, 0.001 is 0.1 %.';
--> statement-breakpoint
comment on column analytics.symbol_history.taker_fee_rate is 'As a share, 0.001 is 0.1 %.';
--> statement-breakpoint
comment on column analytics.symbol_history.min_trade_amount is 'In the base coin.';
--> statement-breakpoint
comment on column analytics.symbol_history.max_trade_amount is 'In the base coin.';
--> statement-breakpoint
comment on column analytics.symbol_history.min_trade_usdt is 'In USDT.';
--> statement-breakpoint
comment on column analytics.symbol_history.price_precision is 'Decimals of a price.';
--> statement-breakpoint
comment on column analytics.symbol_history.quantity_precision is 'Decimals of a quantity in the base coin.';
--> statement-breakpoint
comment on column analytics.symbol_history.quote_precision is 'Decimals of a quantity in the quote coin.';
--> statement-breakpoint
comment on column analytics.symbol_history.buy_limit_price_ratio is 'How far a buy may be off the market, as a share.';
--> statement-breakpoint
comment on column analytics.symbol_history.sell_limit_price_ratio is 'How far a sell may be off it.';
--> statement-breakpoint
comment on column analytics.symbol_history.area_symbol is 'Whether it is in the exchange''s special zone, as served.';
--> statement-breakpoint
comment on column analytics.symbol_history.order_quantity is 'How many orders may be open.';
--> statement-breakpoint
comment on column analytics.symbol_history.open_time is 'When trading began or begins.';
--> statement-breakpoint
comment on column analytics.symbol_history.off_time is 'When it ends; null where no end is set.';
--> statement-breakpoint
comment on column analytics.symbol_history.symbol is 'The pair.';
--> statement-breakpoint
comment on view analytics.data_quality is
  'What is odd about the data: one row a product type and check that found something.';
--> statement-breakpoint
comment on column analytics.data_quality."check" is 'What was found.';
--> statement-breakpoint
comment on column analytics.data_quality."rows" is 'How often.';
--> statement-breakpoint
comment on column analytics.data_quality.first_at is 'When for the first time, by the exchange''s clock or, for quarantine and restatements, the database''s.';
--> statement-breakpoint
comment on column analytics.data_quality.last_at is 'When for the last time.';
