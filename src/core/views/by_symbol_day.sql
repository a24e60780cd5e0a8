create or replace view analytics.by_symbol_day as
select
  ledger_coins.account,
  ledger_coins.product_type,
  ledger_coins.coin,
  dated.day,
  symbols.*
from ledger_coins
cross join lateral (
  select first_day + day_offset as day
  from unnest(array(select generate_series(0, last_day - first_day))) as day_offset
) as dated
cross join lateral (
  select
    symbol,
    coalesce(sum(amount_in) filter (where category = 'trade'), 0) as gains,
    coalesce(sum(amount_out) filter (where category = 'trade'), 0) as losses,
    coalesce(sum(amount_in + amount_out) filter (where category = 'trade'), 0) as realised_pnl,
    sum(fee_out) as fees_charged,
    sum(fee_in) as fees_credited,
    sum(coupon) as fee_by_coupon,
    coalesce(sum(amount_in) filter (where category = 'funding'), 0) as funding_received,
    coalesce(sum(amount_out) filter (where category = 'funding'), 0) as funding_paid,
    sum(bills)::bigint as bills
  from (
    select
      symbol,
      business_types.category,
      bills,
      fee_in,
      fee_out,
      coupon,
      -- Without the fee that an amount may contain.
      case when $may_contain_fee then $sum_amount_in else amount_in end as amount_in,
      case when $may_contain_fee then $sum_amount_out else amount_out end as amount_out
    from (
      select
        bills.account,
        bills.product_type,
        coalesce(bills.symbol, '') as symbol,
        bills.business_type,
        count(*) as bills,
        $bill_sums
      from bills
      where bills.account = ledger_coins.account
        and bills.product_type = ledger_coins.product_type
        and bills.coin = ledger_coins.coin
        and $bills_any_balance
        and $bills_day = dated.day
      group by bills.account, bills.product_type, coalesce(bills.symbol, ''), bills.business_type
    ) as days
    $join_day_rules
  ) as meant
  group by symbol
) as symbols;

comment on view analytics.by_symbol_day is
  'Gains, losses and funding of trades by contract and day, without liquidations and deliveries. Fees, coupons and the number of bills are of all bills.';

comment on column analytics.by_symbol_day.gains is 'The sum of the bills with a gain, positive, without fees.';
comment on column analytics.by_symbol_day.losses is 'The sum of the bills with a loss, negative, without fees.';
comment on column analytics.by_symbol_day.realised_pnl is 'Gains plus losses.';
comment on column analytics.by_symbol_day.fees_charged is 'Negative fees as they were served. What moved the balance is in the rollforwards'' fees_paid.';
comment on column analytics.by_symbol_day.fees_credited is 'Positive fees as they were served. What moved the balance is in the rollforwards'' fee_rebates.';
comment on column analytics.by_symbol_day.fee_by_coupon is 'The fees that coupons paid.';
comment on column analytics.by_symbol_day.bills is 'How many bills name the contract on that day.';
