-- The placeholders come from chain-order.ts, and from wallet-moves.ts for what a bill moves its
-- wallet by.
create or replace view analytics.entries as
select
  bills.account,
  bills.product_type,
  bills.coin,
  bills.bill_id,
  bills.c_time,
  (bills.c_time at time zone 'UTC')::date as day,
  bills.symbol,
  bills.business_type,
  coalesce(business_types.category, 'unclassified') as category,
  bills.amount,
  bills.fee,
  bills.fee_by_coupon,
  bills.balance,
  $wallet_amount as wallet_amount,
  $wallet_fee as wallet_fee,
  $is_id_odd as is_id_odd,
  $bills_wallet as wallet,
  bills.extra is not null as has_extra,
  coalesce(bills.source, 'bills') as source
from bills
$join_rules;

comment on view analytics.entries is
  'One row for each bill, in no order, with its category and by how much it moves the balance. Faster than activity, if you need no running balance.';
comment on column analytics.entries.amount is 'The bill''s amount as it was served, signed.';
comment on column analytics.entries.balance is 'The balance after the bill, as it was served; null if it was not served.';
comment on column analytics.entries.wallet_amount is 'The part of the amount that moves the balance, without a fee that it contains.';
comment on column analytics.entries.wallet_fee is 'The part of fee and coupon that moves the balance, including a fee inside the amount.';
comment on column analytics.entries.is_id_odd is 'Whether the time in the id is not the bill''s. In a unified account, up to a minute later is not odd.';
comment on column analytics.entries.has_extra is 'Whether the bill has fields that the API does not document, a tax record''s type, or decimals in an unusual spelling.';
