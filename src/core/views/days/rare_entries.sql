-- The transfers, liquidations and bonuses, with the columns that order them.
create or replace view public.rare_entries as
select
  account,
  product_type,
  coin,
  bill_id,
  c_time,
  symbol,
  business_type,
  category,
  -- A unified account's amount without the fee that it may contain.
  $amount_apart as amount,
  $fee_apart as fee,
  balance
from (
  select *
  from analytics.entries
  -- As the index bills_rare says it, which finds the few such bills.
  where business_type <> all ($frequent_types)
  union all
  -- Somebody may have mapped a frequent type to such a category. Mostly this reads nothing.
  select *
  from analytics.entries
  where business_type = any ($frequent_types)
    and exists (
      select 1
      from business_types
      where code = any ($frequent_types)
        and category in ('transfer', 'liquidation', 'bonus')
    )
) as entries
where category in ('transfer', 'liquidation', 'bonus');
