create or replace view analytics.coverage as
with known as (
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
  'Which time of a product type was read: one row a stretch, apart from each other.';
comment on column analytics.coverage.account is 'The account''s name in the configuration.';
comment on column analytics.coverage.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it.';
comment on column analytics.coverage.state is 'complete: proven to be read. expired: lost behind the exchange''s 90 days. missing: not read yet.';
comment on column analytics.coverage.covered_from is 'Where the stretch begins; it belongs to it.';
comment on column analytics.coverage.covered_to is 'Where it ends; the moment itself does not belong to it.';
comment on column analytics.coverage.length is 'How long it is.';
