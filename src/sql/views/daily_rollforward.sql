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
    coalesce(sum(difference) filter (where not is_settled), 0) as unsettled,
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
    coalesce(own.unsettled, 0) as unsettled,
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
  ) as is_complete,
  unsettled
from days
left join covered using (account, product_type);

comment on view analytics.daily_rollforward is
  'How each day''s balance came about: opening, every category, closing. One row a day from the first bill to the end of coverage.';
comment on column analytics.daily_rollforward.account is 'The account''s name in the configuration.';
comment on column analytics.daily_rollforward.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it.';
comment on column analytics.daily_rollforward.coin is 'The coin that all amounts of the row are in. Amounts of different coins are never added up.';
comment on column analytics.daily_rollforward.is_demo is 'Whether it is demo trading, which is not money.';
comment on column analytics.daily_rollforward.day is 'The UTC day.';
comment on column analytics.daily_rollforward.opening is 'The balance before the first bill. Null where no bill of the ledger shows a balance.';
comment on column analytics.daily_rollforward.realised_pnl is 'Profit and loss of closed positions, fees not included.';
comment on column analytics.daily_rollforward.trading_fees is 'Fees paid, negative.';
comment on column analytics.daily_rollforward.fee_rebates is 'Fees received as a maker, positive.';
comment on column analytics.daily_rollforward.funding_received is 'Funding fees received, positive.';
comment on column analytics.daily_rollforward.funding_paid is 'Funding fees paid, negative.';
comment on column analytics.daily_rollforward.liquidation is 'Profit and loss of liquidations and auto-deleveraging, and what the insurance fund took or gave.';
comment on column analytics.daily_rollforward.transfers_in is 'Transfers into this product type, positive.';
comment on column analytics.daily_rollforward.transfers_out is 'Transfers out of it, negative.';
comment on column analytics.daily_rollforward.bonus is 'Bonuses, coupons and grants: issued, taken back, expired.';
comment on column analytics.daily_rollforward.copy is 'Copy trading: paid, cashed back, earned as the trader who is copied.';
comment on column analytics.daily_rollforward.delivery is 'Settlement of delivery contracts.';
comment on column analytics.daily_rollforward.margin is 'Margin moved in or out of positions, where it moves the balance; mostly it does not.';
comment on column analytics.daily_rollforward.interest is 'Interest settled.';
comment on column analytics.daily_rollforward.conversion is 'Coins bought or sold by conversion.';
comment on column analytics.daily_rollforward.unmapped is 'Bills of a type that nobody put into a category.';
comment on column analytics.daily_rollforward.rounding is 'Balances that the exchange prints one unit in the last place off their own bills, added up.';
comment on column analytics.daily_rollforward.computed_closing is 'Opening, all categories and rounding, added up.';
comment on column analytics.daily_rollforward.reported_closing is 'The last balance that the exchange showed, moved on by later bills that show none.';
comment on column analytics.daily_rollforward.difference is 'What the exchange''s balance is off the sum of the bills: equal to unsettled, mostly both zero, unless a bill is missing or wrong.';
comment on column analytics.daily_rollforward.bills is 'How many bills are in the row''s sums.';
comment on column analytics.daily_rollforward.is_complete is 'Whether all of the time was proven to be read; until then numbers may still grow.';
comment on column analytics.daily_rollforward.unsettled is 'The part of the difference that reconcile has not judged yet: of bills newer than its last run, or than what is completely read. More bills may come between them.';
