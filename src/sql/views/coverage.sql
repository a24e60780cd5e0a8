create or replace view analytics.coverage as
-- Not materialized, so that a query for one account reads the windows of no other.
with known as not materialized (
  select
    account,
    product_type,
    state,
    unnest(range_agg(tstzrange(window_start, window_end))) as span
  from checkpoints
  where state in ('complete', 'expired')
  group by account, product_type, state
),
missing as (
  select
    account,
    product_type,
    'missing' as state,
    unnest(
      tstzmultirange(tstzrange(min(lower(span)), max(upper(span)))) - range_agg(span)
    ) as span
  from known
  group by account, product_type
)
select
  account,
  product_type,
  state,
  lower(span) as covered_from,
  upper(span) as covered_to,
  upper(span) - lower(span) as length
from (
  select account, product_type, state, span from known
  union all
  select account, product_type, state, span from missing
) as spans;

comment on view analytics.coverage is
  'Which time of a product type was read: one row for each stretch of time. No two stretches overlap.';
comment on column analytics.coverage.account is 'The account''s name in the configuration.';
comment on column analytics.coverage.product_type is 'USDT-FUTURES, COIN-FUTURES or USDC-FUTURES, with an S before it in demo trading.';
comment on column analytics.coverage.state is 'complete: proven to be read. expired: lost, older than the exchange''s 90 days before it was read. missing: not read yet.';
comment on column analytics.coverage.covered_from is 'The start of the stretch, inclusive.';
comment on column analytics.coverage.covered_to is 'The end of the stretch, exclusive.';
comment on column analytics.coverage.length is 'The length of the stretch.';
