create or replace view analytics.activity as
-- Columns are those of src/core/views/days/wallet_activity.sql.
select * from classic_activity
union all
select * from unified_activity;

comment on view analytics.activity is
  'One row for each bill, by time, and within a millisecond by id. Those of one millisecond, and in a unified account of some seconds, may have moved the balance in another order: these show what reconcile found, and the bill after them, or the last one of the day, shows the rest. The sums of a day are those of daily_rollforward.';
comment on column analytics.activity.place is 'Orders the bills of an account, wallet and coin: a number that grows from bill to bill, with gaps.';
comment on column analytics.activity.amount is 'The bill''s amount as it was served, signed. That of a spot trade or of a unified account may contain the fee.';
comment on column analytics.activity.wallet_amount is 'The part of the amount that moves the balance, without a fee that it contains.';
comment on column analytics.activity.wallet_fee is 'The part of fee and coupon that moves the balance.';
comment on column analytics.activity.net is 'By how much the bill moves the balance: wallet_amount plus wallet_fee.';
comment on column analytics.activity.balance_before is 'The balance before the bill: the one after it less what it moves, the rounding and the discrepancy.';
comment on column analytics.activity.balance_after is 'The balance after the bill, as it was served; null if it was not served.';
comment on column analytics.activity.running_balance is 'The balance after the bill: as served, or the last served balance plus the bills since.';
comment on column analytics.activity.discrepancy is 'The served balance minus the balance before, the net and the rounding. Zero if the ledger adds up here, and until reconcile has judged the bill; null if no bill of the ledger has a balance.';
comment on column analytics.activity.unreconciled is 'The same of a bill that reconcile has not judged yet.';
comment on column analytics.activity.is_reconciled is 'Whether the last reconcile has judged the bill.';
