create or replace view analytics.bill_contracts as
-- The time for which each version is the last one that began before a bill; the first also serves earlier
-- bills. Materialized, since a distributed database joins its rows with no other table of the coordinator.
with versions as materialized (
  select
    product_type,
    symbol,
    valid_from,
    valid_to,
    base_coin,
    quote_coin,
    symbol_type,
    maker_fee_rate,
    taker_fee_rate,
    fund_interval,
    case when lag(valid_from) over of_contract is null then '-infinity' else valid_from end as since,
    coalesce(lead(valid_from) over of_contract, 'infinity') as until
  from contract_versions
  window of_contract as (partition by product_type, symbol order by valid_from)
)
select
  bills.account,
  bills.product_type,
  bills.bill_id,
  bills.c_time,
  bills.symbol,
  version.valid_from,
  version.valid_from <= bills.c_time and (version.valid_to is null or bills.c_time < version.valid_to) as is_of_that_time,
  version.base_coin,
  version.quote_coin,
  version.symbol_type,
  version.maker_fee_rate,
  version.taker_fee_rate,
  version.fund_interval
from bills
left join versions as version
  on version.product_type = replace(bills.product_type, 'UTA-', '')
  and version.symbol = bills.symbol
  and version.since <= bills.c_time
  and version.until > bills.c_time;

comment on view analytics.bill_contracts is
  'Each bill with its futures contract, as it was listed at the bill''s time: one row for each bill, with empty columns if no contract is known, as for spot pairs.';
comment on column analytics.bill_contracts.valid_from is 'When these settings were first seen; empty if no contract of that name is known.';
comment on column analytics.bill_contracts.is_of_that_time is 'Whether these settings were valid at the bill''s time. If the bill is older than the first list of contracts, they are the first that were seen.';
