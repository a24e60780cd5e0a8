-- The sums of a day's bills by contract and business type, with what they mean. The symbol is empty for
-- bills that name none.
create or replace view public.contract_days as
select
  days.account,
  days.product_type,
  $days_wallet as wallet,
  day,
  coin,
  symbol,
  coalesce(business_types.category, 'unknown') as category,
  bills,
  fee_in,
  fee_out,
  coupon,
  fee_bills,
  -- A unified account's amount without the fee that it may contain.
  case when days.product_type like 'UTA-%' then $sum_amount_in else amount_in end as amount_in,
  case when days.product_type like 'UTA-%' then $sum_amount_out else amount_out end as amount_out,
  case
    when days.product_type not like 'UTA-%' then amount_bills
    when $is_fee_inside then apart_bills
    when rule.counts_amount then amount_bills
    else 0
  end as amount_bills,
  -- The part of the amount that moves the balance.
  $sum_amount_in + $sum_amount_out as moved,
  -- How many bills have an amount, a fee or a coupon. A bill that closes a position has all of them.
  case
    when rule.counts_amount or (business_types.category = 'trade' and days.product_type not like 'UTA-%')
    then moving_bills
    else fee_bills
  end as moving_bills
from symbol_days as days
$join_day_rules
where bills <> 0;
