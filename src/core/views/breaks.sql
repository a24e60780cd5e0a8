create or replace view analytics.breaks as
select
  break_id,
  account,
  ledger as product_type,
  coin,
  kind,
  anchor,
  happened_at,
  expected,
  observed,
  difference,
  $difference_unit as unit,
  first_bad_bill,
  last_good_bill,
  explanation,
  state,
  note,
  accepted_by,
  accepted_at,
  resolved_at,
  first_seen_at,
  last_seen_at
from ledger_breaks;

comment on view analytics.breaks is
  'The places where the ledger does not add up, as of the last reconcile, with notes of acceptance. A row is never deleted.';
comment on column analytics.breaks.break_id is 'The number of the break, by which it is accepted.';
comment on column analytics.breaks.product_type is 'The product type, or UTA for the wallet of a unified account; empty if the break has none.';
comment on column analytics.breaks.coin is 'The coin of the amounts; empty if the break has none.';
comment on column analytics.breaks.kind is 'What is wrong: balance, unread, transfer, ltv, lost, restated.';
comment on column analytics.breaks.anchor is 'Where the break is: a bill''s id, a record and its figure, the time since which it is, or now.';
comment on column analytics.breaks.happened_at is 'When it happened, by the exchange''s clock.';
comment on column analytics.breaks.expected is 'The value that follows from the bills before.';
comment on column analytics.breaks.observed is 'The value that was served.';
comment on column analytics.breaks.difference is 'Observed minus expected; or how long lost time is, or how many bills were restated.';
comment on column analytics.breaks.unit is 'The unit of difference: a coin, ms or bills; null for figures of a record.';
comment on column analytics.breaks.first_bad_bill is 'The first bill that shows the break.';
comment on column analytics.breaks.last_good_bill is 'The last bill before that whose balance is right.';
comment on column analytics.breaks.explanation is 'What the data says about the cause.';
comment on column analytics.breaks.state is 'open, accepted, or resolved: a later reconcile no longer found it.';
comment on column analytics.breaks.note is 'The note of the acceptance.';
comment on column analytics.breaks.accepted_by is 'Who accepted it.';
comment on column analytics.breaks.accepted_at is 'When it was accepted.';
comment on column analytics.breaks.resolved_at is 'When a reconcile no longer found it.';
comment on column analytics.breaks.first_seen_at is 'When reconcile first found it.';
comment on column analytics.breaks.last_seen_at is 'When reconcile last found it.';
