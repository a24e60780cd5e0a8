create or replace view analytics.break_history as
select
  break_id,
  account,
  place,
  decision,
  decided_at,
  decided_by,
  note,
  difference
from break_decisions;

comment on view analytics.break_history is
  'Every acceptance and reopening of a break. Rows are only added.';
comment on column analytics.break_history.break_id is 'The break''s number.';
comment on column analytics.break_history.place is 'The number of the decision, from 1 for each break.';
comment on column analytics.break_history.decision is 'accepted or reopened.';
comment on column analytics.break_history.decided_at is 'When it was decided.';
comment on column analytics.break_history.decided_by is 'Who decided; null if nobody was named, or if reconcile reopened the break because its difference had changed.';
comment on column analytics.break_history.note is 'The reason that was given.';
comment on column analytics.break_history.difference is 'The break''s difference at that time, in the unit that breaks has.';
