create or replace view analytics.monthly_rollforward as
select
  account,
  product_type,
  coin,
  date_trunc('month', day)::date as month,
  (array_agg(opening order by day))[1] as opening,
  $movement_month_sums,
  sum(left_behind) as left_behind,
  sum(rounding) as rounding,
  (array_agg(opening order by day))[1] + sum($movement_total + left_behind + rounding) as computed_closing,
  (array_agg(closing order by day desc))[1] as closing,
  sum(discrepancy) as discrepancy,
  sum(unreconciled) as unreconciled,
  sum(bills)::bigint as bills,
  bool_and(is_complete) and (
    count(*) = extract(day from date_trunc('month', day) + interval '1 month - 1 day')
    -- A coin's days begin with its first bill.
    or exists (
      select 1
      from public.chains
      where chains.account = daily_rollforward.account
        and chains.wallet = daily_rollforward.product_type
        and chains.coin = daily_rollforward.coin
        and chains.covered @> tstzrange(
          date_trunc('month', min(daily_rollforward.day)::timestamp) at time zone 'UTC',
          (max(daily_rollforward.day) + 1)::timestamp at time zone 'UTC'
        )
    )
  ) as is_complete
from analytics.daily_rollforward
group by account, product_type, coin, date_trunc('month', day);

comment on view analytics.monthly_rollforward is
  'How each month''s balance came about: daily_rollforward by month.';
