-- The bills of types without a category.
create or replace view public.unclassified_bills as
select
  ledgers.account,
  ledgers.product_type,
  coin,
  code as business_type,
  c_time,
  amount,
  fee
from ledgers
cross join business_types
-- A ledger and a type at a time, by the index bills_rare. As a join, the planner read all that it has.
cross join lateral (
  select bills.coin, bills.c_time, bills.amount, bills.fee
  from bills
  where bills.account = ledgers.account
    and bills.product_type = ledgers.product_type
    and bills.business_type = business_types.code
    and bills.business_type <> all ($frequent_types)
  offset 0
) as found
where category = 'unclassified'
  and code <> all ($frequent_types)
union all
-- A frequent type has no category only if somebody said so. Mostly this reads nothing.
select
  account,
  product_type,
  coin,
  business_type,
  c_time,
  amount,
  fee
from bills
join business_types on code = business_type
where category = 'unclassified'
  and code = any ($frequent_types);
