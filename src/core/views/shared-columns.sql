-- What a column says that several views have. A view whose column says something else has a comment of its own.
do $$
declare
  statement text;
begin
  for statement in
    select format('comment on column %s.%I is %L', attrelid::regclass, attname, comment)
    from (
      values
      ('account', 'The account, by its name in the configuration.'),
      ('amount', 'The amount, signed.'),
      ('base_coin', 'The coin that is traded.'),
      ('bill_id', 'The exchange''s id of the bill: text, since it does not fit a floating-point number.'),
      ('bills', 'How many bills the sums of the row have.'),
      ('bonus', 'Bonuses, coupons and grants: issued, taken back, expired.'),
      ('business_type', 'The business type of the bill, as the exchange names it.'),
      ('c_time', 'When the exchange made the bill, to the millisecond.'),
      ('category', 'The category of the bill: trade, funding, transfer and so on. A type without a category is unclassified.'),
      ('left_behind', 'What was left in the wallet when its account changed between classic and unified, with the opposite sign: the closing is 0, and the wallet''s rows end.'),
      ('closing', 'The balance at the end of the day or month: the last one that the exchange served, that day or before, plus what later bills moved. Column balance of entries has the served ones.'),
      ('coin', 'The coin of all amounts of the row. Amounts of different coins are never added up.'),
      ('computed_closing', 'The sum of opening, all categories and rounding.'),
      ('conversion', 'Coins bought or sold by conversion.'),
      ('copy', 'Copy trading: paid, cashed back, and earned as the copied trader.'),
      ('day', 'The UTC day.'),
      ('delivery', 'Settlement of delivery contracts.'),
      ('deposits', 'Coins that came from outside the exchange.'),
      ('discrepancy', 'The exchange''s balance minus the sum of the bills, as far as reconcile has judged it. Not zero if a bill is missing or wrong.'),
      ('fee', 'The bill''s fee as it was served, signed: negative is paid.'),
      ('fee_by_coupon', 'The part of the fee that a coupon paid.'),
      ('fee_rebates', 'Fees that were received, such as rebates of a maker, positive: all bills whose fee is above 0.'),
      ('separate_fees', 'Fees in bills of their own, negative where paid: an amount, not a count.'),
      ('fund_interval', 'Hours between two settlements of funding.'),
      ('funding_paid', 'Funding fees paid, negative.'),
      ('funding_received', 'Funding fees received, positive.'),
      ('interest', 'Interest, paid and received.'),
      ('is_complete', 'Whether the whole day or month was read. Until then the numbers may change. It does not say that they add up: see discrepancy.'),
      ('liquidation', 'Profit and loss of liquidations and auto-deleveraging, and what the insurance fund took or gave.'),
      ('loan', 'Principal borrowed, positive, and repaid, negative.'),
      ('maker_fee_rate', 'The default rate, as a share: 0.0002 is 0.02 %. An account may have another rate.'),
      ('margin', 'Margin moved into or out of positions, where that moves the balance. Mostly it does not, and this is 0.'),
      ('month', 'The first UTC day of the month.'),
      ('opening', 'The balance at the start of the day or month. Null if no bill of the ledger has a balance.'),
      ('product_type', 'The product type, such as USDT-FUTURES, SPOT or UTA-SPOT; UTA for the one wallet of a unified account.'),
      ('quote_coin', 'The coin that prices are in.'),
      ('realised_pnl', 'Profit and loss of closed positions, fees not included.'),
      ('rounding', 'What the exchange rounded away: at most one unit in the eighth decimal place for each bill.'),
      ('source', 'bills, or tax-records if the bill was recovered from tax records. A recovered bill has no coupon, and mostly no balance of the exchange.'),
      ('spot', 'Coins bought and sold on the spot market: principal, not profit.'),
      ('symbol', 'The contract, as the exchange names it; null or empty if the bill has none.'),
      ('symbol_type', 'perpetual or delivery.'),
      ('taker_fee_rate', 'The default rate, as a share. An account may have another rate.'),
      ('fees_paid', 'What fees took from the balance, negative.'),
      ('transfers_in', 'Transfers into this product type, positive.'),
      ('transfers_out', 'Transfers out of it, negative.'),
      ('unclassified', 'Bills of types without a category.'),
      ('unreconciled', 'The exchange''s balance minus the sum of the bills, where reconcile has not judged it yet: after the last reconcile, or after the time that was read completely.'),
      ('valid_to', 'When another version was first seen; null while it is valid.'),
      ('withdrawals', 'Coins that went out of the exchange, negative.'),
      ('wallet', 'The wallet whose balance the bill moves: UTA for a unified account without its funding wallet, else the product type.')
    ) as shared (name, comment)
    join pg_attribute on attname = name
    where attrelid = 'analytics.$view'::regclass
  loop
    execute statement;
  end loop;
end
$$;
