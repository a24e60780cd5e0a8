create or replace view analytics.data_quality as
with checks as (
  select
    account,
    product_type,
    'quarantined rows' as check,
    1 as rows,
    rejected_at as first_at,
    rejected_at as last_at
  from rejected_bills
  where resolved_at is null
  union all
  select account, product_type, 'restatements', 1, replaced_at, replaced_at
  from bill_revisions
  union all
  select account, product_type, "check", bills, first_at, last_at
  from current_check_days
  union all
  -- All checks of a day share one reference to chained_days: with several references, its days are
  -- computed for all accounts.
  select days.account, days.wallet, steps.check, steps.rows, steps.first_at, steps.last_at
  from chained_days as days
  left join reconciled_chains
    on reconciled_chains.account = days.account
    and reconciled_chains.product_type = days.wallet
    and reconciled_chains.coin = days.coin
  cross join lateral (
    select 'breaks in the balance' as check, 1 as rows, at as first_at, at as last_at
    from (
      select (own).opened_at as at
      where step_difference <> 0
      union all
      select at
      from unnest((own).difference_times) as at
    ) as differing
    where reconciled_at is not null
      and coalesce(at < reconciled_through, true)
    union all
    select 'balances off by one unit in the last place', 1, (own).opened_at, (own).opened_at
    where step_rounding <> 0
    union all
    select
      'balances off by one unit in the last place', (own).roundings, (own).rounded_first_at, (own).rounded_last_at
    where (own).roundings > 0
  ) as steps
  where step_rounding <> 0
    or step_difference <> 0
    or (own).roundings > 0
    or (own).differences is not null
  union all
  select account, product_type, 'time that was not read', 1, covered_from, covered_from
  from analytics.coverage
  where state <> 'complete'
)
select
  account,
  product_type,
  product_type like 'S%' as is_demo,
  "check",
  sum(rows)::bigint as rows,
  min(first_at) as first_at,
  max(last_at) as last_at
from checks
group by account, product_type, "check";

comment on view analytics.data_quality is
  'What is odd about the data: one row for each product type and check that found something.';
comment on column analytics.data_quality.account is 'The account''s name in the configuration.';
comment on column analytics.data_quality.product_type is 'USDT-FUTURES, COIN-FUTURES or USDC-FUTURES, with an S before it in demo trading; UTA for the balances of a unified account.';
comment on column analytics.data_quality.is_demo is 'Whether this is demo trading, which is not money.';
comment on column analytics.data_quality."check" is 'What was found.';
comment on column analytics.data_quality."rows" is 'How often.';
comment on column analytics.data_quality.first_at is 'When it was found first, by the exchange''s clock or, for quarantine and restatements, the database''s clock.';
comment on column analytics.data_quality.last_at is 'When it was found last.';
