-- The sums of a day's bills by contract and business type, with what they mean. The symbol is empty for
-- bills that name none.
create or replace view public.contract_days as
select
  days.account,
  days.product_type,
  day,
  coin,
  symbol,
  coalesce(business_types.category, 'unknown') as category,
  bills,
  fee_in,
  fee_out,
  coupon,
  fee_bills,
  -- The amount without the fee that it may contain.
  case when $may_contain_fee then $sum_amount_in else amount_in end as amount_in,
  case when $may_contain_fee then $sum_amount_out else amount_out end as amount_out,
  case
    when not $may_contain_fee then amount_bills
    when $is_fee_inside then apart_bills
    when rule.counts_amount then amount_bills
    else 0
  end as amount_bills
from symbol_days as days
$join_day_rules
where bills <> 0;
