create or replace view analytics.fees_by_symbol_day as
select
  account,
  product_type,
  coin,
  $is_demo as is_demo,
  day,
  symbol,
  sum(fee_out) as fees,
  sum(fee_in) as rebates,
  sum(coupon) as paid_by_coupon,
  sum(fee_out + fee_in) as net,
  sum(fee_bills)::bigint as bills
from contract_days
$join_account
group by account, product_type, whole.is_demo, coin, day, symbol
having sum(fee_bills) > 0;

comment on view analytics.fees_by_symbol_day is
  'Trading fees, by contract and day.';
comment on column analytics.fees_by_symbol_day.fees is 'Fees paid, negative.';
comment on column analytics.fees_by_symbol_day.rebates is 'Fees received as a maker, positive.';
comment on column analytics.fees_by_symbol_day.paid_by_coupon is 'The fees that coupons paid.';
comment on column analytics.fees_by_symbol_day.net is 'The sum of fees and rebates, without coupons.';
