-- The coins of each ledger, with the days of the first and the last bill. Looks each up in bills_chain, so that it
-- takes as long with a million bills as with ten.
create or replace view public.ledger_coins as
select
  ledgers.account,
  ledgers.product_type,
  coins.coin,
  (
    select min(day)
    from unnest(array[0, 1]) as without_balance
    cross join lateral (
      select $bills_day as day
      from bills
      where bills.account = ledgers.account
        and bills.product_type = ledgers.product_type
        and bills.coin = coins.coin
        and num_nulls(bills.balance) = without_balance
      order by $bills_day
      limit 1
    ) as first
  ) as first_day,
  (
    select max(day)
    from unnest(array[0, 1]) as without_balance
    cross join lateral (
      select $bills_day as day
      from bills
      where bills.account = ledgers.account
        and bills.product_type = ledgers.product_type
        and bills.coin = coins.coin
        and num_nulls(bills.balance) = without_balance
      order by $bills_day desc
      limit 1
    ) as last
  ) as last_day
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
) as coins;
