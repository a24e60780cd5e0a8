create or replace view analytics.by_symbol_day as
select
  account,
  product_type,
  coin,
  day,
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
    days.account,
    days.product_type,
    coin,
    day,
    symbol,
    business_types.category,
    bills,
    fee_in,
    fee_out,
    coupon,
    -- Without the fee that an amount may contain.
    case when $may_contain_fee then $sum_amount_in else amount_in end as amount_in,
    case when $may_contain_fee then $sum_amount_out else amount_out end as amount_out
  from symbol_days as days
  $join_day_rules
  where bills <> 0
) as meant
group by account, product_type, coin, day, symbol;

comment on view analytics.by_symbol_day is
  'Gains, losses and funding of trades by contract and day, without liquidations and deliveries. Fees, coupons and the number of bills are of all bills.';

comment on column analytics.by_symbol_day.gains is 'The sum of the bills with a gain, positive, without fees.';
comment on column analytics.by_symbol_day.losses is 'The sum of the bills with a loss, negative, without fees.';
comment on column analytics.by_symbol_day.realised_pnl is 'Gains plus losses.';
comment on column analytics.by_symbol_day.fees_charged is 'Negative fees as they were served. What moved the balance is in the rollforwards'' fees_paid.';
comment on column analytics.by_symbol_day.fees_credited is 'Positive fees as they were served. What moved the balance is in the rollforwards'' fee_rebates.';
comment on column analytics.by_symbol_day.fee_by_coupon is 'The fees that coupons paid.';
comment on column analytics.by_symbol_day.bills is 'How many bills name the contract on that day.';
