create or replace view analytics.data_quality as
with checks as (
  select account, product_type, 'rejected-rows' as check_name, 1 as rows, (rejected_at at time zone 'UTC')::date as day
  from rejected_bills
  where closed_at is null
    and superseded_at is null
  union all
  select account, product_type, 'restatements', 1, (replaced_at at time zone 'UTC')::date
  from bill_revisions
  union all
  select account, product_type, bill_checks.check_name, bill_checks.rows, bill_checks.day
  from (
    select
      bills.account,
      bills.product_type,
      $bills_day as day,
      count(*) filter (where balance is null) as without_balance,
      count(*) filter (where extra is not null) as with_extra,
      count(*) filter (where $is_id_odd) as odd_ids,
      count(*) filter (where coalesce(category, 'unclassified') = 'unclassified') as unclassified
    from bills
    left join business_types on code = business_type
    group by bills.account, bills.product_type, $bills_day
  ) as counted
  cross join lateral (
    values
      ('bills-without-balance', without_balance, day),
      ('undocumented-fields', with_extra, day),
      ('ids-of-another-time', odd_ids, day),
      ('unclassified-bills', unclassified, day)
  ) as bill_checks (check_name, rows, day)
  where bill_checks.rows > 0
  union all
  select account, ledger, 'balance-breaks', 1, (happened_at at time zone 'UTC')::date
  from ledger_breaks
  where state <> 'resolved'
    and $is_of_bill
  union all
  select account, wallet, 'rounded-days', 1, day
  from chain_days
  where rounding <> 0
  union all
  -- A period is counted on its first day, and reaches to its last.
  select account, product_type, state || '-time', unnest(array[1, 0]),
    (unnest(array[period_start, period_end - interval '1 microsecond']) at time zone 'UTC')::date
  from analytics.time_states
  where state in ('lost', 'unread')
)
select
  account,
  product_type,
  check_name,
  sum(rows)::bigint as rows,
  min(day) as first_on,
  max(day) as last_on
from checks
group by account, product_type, check_name;

comment on view analytics.data_quality is
  'What is odd about the data: one row for each product type and check that found something.';
comment on column analytics.data_quality.check_name is 'What was found. undocumented-fields: bills have fields that the API does not document, or a tax record''s type. ids-of-another-time: a bill''s id implies another time than the bill has. rounded-days: days whose balances the exchange rounded.';
comment on column analytics.data_quality."rows" is 'How often.';
comment on column analytics.data_quality.first_on is 'The first UTC day that it concerns. Rejected rows and restatements are of the day on which they were stored.';
comment on column analytics.data_quality.last_on is 'The last such day.';
