-- The coins of each ledger, with the days of the first and the last bill. Looks each up in bills_chain, so that it
-- takes as long with a million bills as with ten.
create or replace view public.ledger_coins as
select
  ledgers.account,
  ledgers.product_type,
  coins.coin,
  days.first_day,
  days.last_day
from ledgers
cross join lateral (
  with recursive found as (
    select (
      select bills.coin
      from bills
      where bills.account = ledgers.account
        and bills.product_type = ledgers.product_type
      order by bills.coin
      limit 1
    ) as coin
    union all
    select (
      select bills.coin
      from bills
      where bills.account = ledgers.account
        and bills.product_type = ledgers.product_type
        and bills.coin > found.coin
      order by bills.coin
      limit 1
    )
    from found
    where found.coin is not null
  )
  select found.coin
  from found
  where found.coin is not null
) as coins
cross join lateral (
  select min(edges.first_day) as first_day, max(edges.last_day) as last_day
  from unnest(array[0, 1]) as without_balance
  cross join lateral (
    select min($bills_day) as first_day, max($bills_day) as last_day
    from bills
    where bills.account = ledgers.account
      and bills.product_type = ledgers.product_type
      and bills.coin = coins.coin
      and num_nulls(bills.balance) = without_balance
  ) as edges
) as days;
