create or replace view analytics.monthly_rollforward as
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
        + unmapped + rounding + spot + loan + fees + closed_out
    ) as computed_closing,
  (array_agg(reported_closing order by day desc))[1] as reported_closing,
  sum(difference) as difference,
  sum(bills)::bigint as bills,
  bool_and(is_complete)
    and count(*) = extract(day from date_trunc('month', day) + interval '1 month - 1 day') as is_complete,
  sum(unsettled) as unsettled,
  sum(spot) as spot,
  sum(loan) as loan,
  sum(fees) as fees,
  sum(closed_out) as closed_out
from analytics.daily_rollforward
group by account, product_type, coin, is_demo, date_trunc('month', day);

comment on view analytics.monthly_rollforward is
  'How each month''s balance came about: daily_rollforward by month.';
comment on column analytics.monthly_rollforward.account is 'The account''s name in the configuration.';
comment on column analytics.monthly_rollforward.product_type is 'USDT-FUTURES, COIN-FUTURES or USDC-FUTURES, with an S before it in demo trading; UTA for the one wallet of a unified account.';
comment on column analytics.monthly_rollforward.coin is 'The coin of all amounts of the row. Amounts of different coins are never added up.';
comment on column analytics.monthly_rollforward.is_demo is 'Whether this is demo trading, which is not money.';
comment on column analytics.monthly_rollforward.month is 'The first UTC day of the month.';
comment on column analytics.monthly_rollforward.opening is 'The balance before the first bill. Null if no bill of the ledger has a balance.';
comment on column analytics.monthly_rollforward.realised_pnl is 'Profit and loss of closed positions, fees not included.';
comment on column analytics.monthly_rollforward.trading_fees is 'Fees paid, negative.';
comment on column analytics.monthly_rollforward.fee_rebates is 'Fees received as a maker, positive.';
comment on column analytics.monthly_rollforward.funding_received is 'Funding fees received, positive.';
comment on column analytics.monthly_rollforward.funding_paid is 'Funding fees paid, negative.';
comment on column analytics.monthly_rollforward.liquidation is 'Profit and loss of liquidations and auto-deleveraging, and what the insurance fund took or gave.';
comment on column analytics.monthly_rollforward.transfers_in is 'Transfers into this product type, positive.';
comment on column analytics.monthly_rollforward.transfers_out is 'Transfers out of it, negative.';
comment on column analytics.monthly_rollforward.bonus is 'Bonuses, coupons and grants: issued, taken back, expired.';
comment on column analytics.monthly_rollforward.copy is 'Copy trading: paid, cashed back, and earned as the copied trader.';
comment on column analytics.monthly_rollforward.delivery is 'Settlement of delivery contracts.';
comment on column analytics.monthly_rollforward.margin is 'Margin moved into or out of positions, if it moves the balance; mostly it does not.';
comment on column analytics.monthly_rollforward.interest is 'Interest settled.';
comment on column analytics.monthly_rollforward.conversion is 'Coins bought or sold by conversion.';
comment on column analytics.monthly_rollforward.unmapped is 'Bills of a type that nobody mapped to a category.';
comment on column analytics.monthly_rollforward.rounding is 'What the balance is off by rounding: on a day at most one unit in the eighth decimal place for each of its bills.';
comment on column analytics.monthly_rollforward.computed_closing is 'The sum of opening, all categories and rounding.';
comment on column analytics.monthly_rollforward.reported_closing is 'The last balance that the exchange served, plus what later bills without a balance moved.';
comment on column analytics.monthly_rollforward.difference is 'The exchange''s balance minus the sum of the bills. Equal to unsettled, and mostly zero, unless a bill is missing or wrong.';
comment on column analytics.monthly_rollforward.bills is 'How many bills the sums of the row have.';
comment on column analytics.monthly_rollforward.is_complete is 'Whether all of the time is proven to be read. Until then the numbers may still change.';
comment on column analytics.monthly_rollforward.unsettled is 'The part of the difference that reconcile has not judged yet. It comes from bills that are newer than the last reconcile, or newer than the time that was read completely: more bills may appear between them.';
comment on column analytics.monthly_rollforward.spot is 'Coins bought and sold on the spot market of a unified account: principal, not profit.';
comment on column analytics.monthly_rollforward.loan is 'Principal borrowed, positive, and repaid, negative.';
comment on column analytics.monthly_rollforward.fees is 'Fees in separate bills, which have no other amount.';
comment on column analytics.monthly_rollforward.closed_out is 'What was left in the wallet, with the opposite sign, in the month in which a sync noticed that its account had become unified, or classic again. The exchange no longer serves this wallet, and its rows end. This is not what the new wallet begins with: that is its own opening, or a transfer.';
