create or replace view analytics.time_states as
-- Not materialized, so that a query for one account reads the rows of no other.
with times as not materialized (
  select account, product_type, covered, lost, recovered, open, covered + lost + recovered as accounted_for
  from ledgers
)
select
  account,
  product_type,
  state,
  lower(span) as period_start,
  upper(span) as period_end,
  upper(span) - lower(span) as period_length
from (
  select account, product_type, 'complete' as state, unnest(covered) as span
  from times
  union all
  select account, product_type, 'lost', unnest(lost)
  from times
  union all
  select account, product_type, 'recovered', unnest(recovered)
  from times
  union all
  select account, product_type, 'unread', unnest(tstzmultirange(range_merge(accounted_for)) + open - accounted_for)
  from times
) as spans;

comment on view analytics.time_states is
  'Which time of a product type was read: one row for each period. No two periods overlap.';
comment on column analytics.time_states.state is 'complete: proven to be read. unread: not read yet. lost: deleted by the exchange before it was read. recovered: read from tax records.';
comment on column analytics.time_states.period_start is 'The start of the period, inclusive.';
comment on column analytics.time_states.period_end is 'The end of the period, exclusive.';
comment on column analytics.time_states.period_length is 'The length of the period.';
