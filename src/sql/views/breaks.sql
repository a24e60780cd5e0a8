create or replace view analytics.breaks as
select
  break_id,
  account,
  product_type,
  coin,
  product_type like 'S%' as is_demo,
  kind,
  anchor,
  happened_at,
  expected,
  observed,
  difference,
  first_bad_bill,
  last_good_bill,
  explanation,
  case state when 'explained' then 'signed off' else state end as state,
  note,
  signed_off_by,
  signed_off_at,
  resolved_at,
  first_seen_at,
  last_seen_at
from ledger_breaks;

comment on view analytics.breaks is
  'Where the ledger does not add up, as the last reconcile found it, and what somebody said to it. A row is never deleted.';
comment on column analytics.breaks.break_id is 'The number that reconcile shows and takes.';
comment on column analytics.breaks.account is 'The account''s name in the configuration.';
comment on column analytics.breaks.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it; empty where a break is of none.';
comment on column analytics.breaks.coin is 'The coin that the amounts are in; empty where a break is of none.';
comment on column analytics.breaks.is_demo is 'Whether it is demo trading, which is not money.';
comment on column analytics.breaks.kind is 'What is wrong: chain, balance, duplicate, fee-sign, rounding, unread, rollforward, transfer, id-time, restatement, quarantine, or one of loan-to-value.';
comment on column analytics.breaks.anchor is 'What of it is broken: a bill''s id, a day, a snapshot''s time.';
comment on column analytics.breaks.happened_at is 'When it happened, by the exchange''s clock.';
comment on column analytics.breaks.expected is 'What it should be by the bills before.';
comment on column analytics.breaks.observed is 'What was served.';
comment on column analytics.breaks.difference is 'Observed less expected.';
comment on column analytics.breaks.first_bad_bill is 'The bill that shows it.';
comment on column analytics.breaks.last_good_bill is 'The last bill before it whose balance is right.';
comment on column analytics.breaks.explanation is 'What the data says about why.';
comment on column analytics.breaks.state is 'open, signed off, or resolved: a later reconcile did not find it any more.';
comment on column analytics.breaks.note is 'What was said at the sign-off that holds.';
comment on column analytics.breaks.signed_off_by is 'Who signed it off, as the name was given.';
comment on column analytics.breaks.signed_off_at is 'When it was signed off.';
comment on column analytics.breaks.resolved_at is 'When it was not found any more.';
comment on column analytics.breaks.first_seen_at is 'When reconcile found it for the first time.';
comment on column analytics.breaks.last_seen_at is 'When it found it for the last time.';
