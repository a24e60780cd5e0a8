create or replace view analytics.activity as
select
  account,
  product_type,
  coin,
  is_demo,
  position,
  bill_id,
  c_time,
  day,
  symbol,
  business_type,
  category,
  amount,
  fee,
  fee_by_coupon,
  wallet_amount,
  wallet_fee,
  net,
  balance_before,
  balance_after,
  running_balance,
  rounding,
  difference,
  is_settled,
  wallet
from classic_activity
union all
select
  account,
  product_type,
  coin,
  is_demo,
  position,
  bill_id,
  c_time,
  day,
  symbol,
  business_type,
  category,
  amount,
  fee,
  fee_by_coupon,
  wallet_amount,
  wallet_fee,
  net,
  balance_before,
  balance_after,
  running_balance,
  rounding,
  difference,
  is_settled,
  wallet
from unified_activity;

comment on view analytics.activity is
  'One row a bill, in the order in which the balance moved: by time and id, or where balances show another order by that.';
comment on column analytics.activity.account is 'The account''s name in the configuration.';
comment on column analytics.activity.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it; of a unified account UTA-SPOT, UTA-MARGIN, UTA-USDT-FUTURES, UTA-COIN-FUTURES, UTA-USDC-FUTURES or UTA-OTHER.';
comment on column analytics.activity.coin is 'The coin that all amounts of the row are in. Amounts of different coins are never added up.';
comment on column analytics.activity.is_demo is 'Whether it is demo trading, which is not money.';
comment on column analytics.activity."position" is 'The bill''s place in the chain of its account, wallet and coin, from 1.';
comment on column analytics.activity.bill_id is 'The exchange''s id of the bill: text, since it does not fit a floating-point number.';
comment on column analytics.activity.c_time is 'When the exchange made the bill, to the millisecond.';
comment on column analytics.activity.day is 'The UTC day.';
comment on column analytics.activity.symbol is 'The contract, as the exchange names it; empty where a bill has none.';
comment on column analytics.activity.business_type is 'The kind of bill, as the exchange names it.';
comment on column analytics.activity.category is 'What the bill is about: trade, funding, transfer and so on; unknown where nobody mapped its type.';
comment on column analytics.activity.amount is 'The bill''s amount as it was served, signed, without the fee.';
comment on column analytics.activity.fee is 'The bill''s fee as it was served, signed: negative is paid.';
comment on column analytics.activity.fee_by_coupon is 'What a coupon paid of the fee.';
comment on column analytics.activity.wallet_amount is 'The part of the amount that moves the balance: all of it or nothing, as its category was learned.';
comment on column analytics.activity.wallet_fee is 'The part of fee and coupon that moves the balance.';
comment on column analytics.activity.net is 'What the bill moves the balance by: wallet_amount and wallet_fee.';
comment on column analytics.activity.balance_before is 'The balance before the bill, by the bills before it.';
comment on column analytics.activity.balance_after is 'The balance after it, as it was served; null where it was not.';
comment on column analytics.activity.running_balance is 'The balance after it: as served, or by its bills since the last one that shows it.';
comment on column analytics.activity.rounding is 'What the served balance is off by rounding: at most one unit in the eighth place a bill.';
comment on column analytics.activity.difference is 'The served balance less the balance before, the net and the rounding: zero where the chain holds, and says nothing yet where is_settled is false.';
comment on column analytics.activity.is_settled is 'Whether the last reconcile has judged the bill: false where it is newer than that, or than what is completely read.';
comment on column analytics.activity.wallet is 'Whose balance the bill moves: UTA for all categories of a unified account, else the product type.';
