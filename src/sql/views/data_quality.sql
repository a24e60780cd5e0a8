create or replace view analytics.data_quality as
with checks as (
  select
    account,
    product_type,
    'quarantined rows' as check,
    rejected_at as seen_at
  from rejected_bills
  where resolved_at is null
  union all
  select account, product_type, 'restatements', replaced_at
  from bill_revisions
  union all
  select account, product_type, 'bills without a balance', c_time
  from bills
  where balance is null
  union all
  select account, product_type, 'bills of an unmapped type', c_time
  from analytics.entries
  where category = 'unknown'
  union all
  select account, product_type, 'ids that tell another time', c_time
  from analytics.entries
  where is_id_odd
  union all
  select account, product_type, 'bills with fields that no contract lists', c_time
  from bills
  where extra is not null
  union all
  select account, product_type, 'breaks in the balance', c_time
  from analytics.activity
  where difference <> 0
    and is_settled
  union all
  select account, product_type, 'balances off by one unit in the last place', c_time
  from analytics.activity
  where rounding <> 0
  union all
  select account, product_type, 'time that was not read', covered_from
  from analytics.coverage
  where state <> 'complete'
)
select
  account,
  product_type,
  product_type like 'S%' as is_demo,
  "check",
  count(*) as rows,
  min(seen_at) as first_at,
  max(seen_at) as last_at
from checks
group by account, product_type, "check";

comment on view analytics.data_quality is
  'What is odd about the data: one row a product type and check that found something.';
comment on column analytics.data_quality.account is 'The account''s name in the configuration.';
comment on column analytics.data_quality.product_type is 'USDT-FUTURES, COIN-FUTURES, USDC-FUTURES, or the one of demo trading with an S before it.';
comment on column analytics.data_quality.is_demo is 'Whether it is demo trading, which is not money.';
comment on column analytics.data_quality."check" is 'What was found.';
comment on column analytics.data_quality."rows" is 'How often.';
comment on column analytics.data_quality.first_at is 'When for the first time, by the exchange''s clock or, for quarantine and restatements, the database''s.';
comment on column analytics.data_quality.last_at is 'When for the last time.';
