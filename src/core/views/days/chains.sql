-- A chain is one coin of one wallet: its days, from the first bill to the end of what was read.
create or replace view public.chains as
select
  chained.account,
  chained.wallet,
  chained.coin,
  $chained_product_types as product_types,
  first_day,
  greatest(last_day, coalesce(ended_on, (upper(covered.time) at time zone 'UTC')::date)) as last_day,
  ended_on is not null as is_ended,
  covered.time as covered,
  reconciled_at,
  reconciled_through
from (
  select
    account,
    $wallet as wallet,
    coin,
    min(first_day) as first_day,
    max(last_day) as last_day
  from ledger_coins
  group by account, 2, coin
) as chained
left join (
  select
    account,
    $wallet as wallet,
    -- A unified account has one balance: while one of its product types was never read, nothing is
    -- complete. Product types that the key may not read do not count.
    case
      when $wallet = 'UTA' and exists (
        select 1
        from unnest($unified_types) as wanted (product_type)
        left join ledgers as read
          on read.account = ledgers.account
          and read.product_type = wanted.product_type
        where coalesce(read.covered, '{}') = '{}'
          and read.not_available_since is null
      ) then '{}'
      else range_intersect_agg(ledgers.covered)
    end as time
  from ledgers
  where covered <> '{}'
  group by account, 2
) as covered using (account, wallet)
-- The day on which a wallet's account changed to the other mode. What was left in the wallet is
-- taken out on that day.
left join (
  select
    account,
    $wallet as wallet,
    (max(ended_at) at time zone 'UTC')::date as ended_on
  from ledgers
  where ended_at is not null
  group by account, 2
) as ended using (account, wallet)
left join reconciled_chains using (account, wallet, coin);
