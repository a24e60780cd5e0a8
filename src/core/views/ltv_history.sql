create or replace view analytics.ltv_history as
select
  ltv_snapshots.account,
  ltv_snapshots.risk_unit_id,
  ltv_snapshots.first_seen_at,
  ltv_snapshots.last_seen_at,
  ltv_snapshots.ltv,
  ltv_snapshots.usdt_balance,
  ltv_snapshots.unpaid_usdt_amount,
  parts.coin,
  parts.price,
  parts.amount,
  parts.converted_usdt_amount,
  1 - parts.converted_usdt_amount / nullif(parts.price * parts.amount, 0) as implied_haircut,
  parts.unpaid_qty,
  parts.unpaid_interest
from ltv_snapshots
left join (
  select
    account,
    risk_unit_id,
    first_seen_at,
    coin,
    -- A coin has one row of each kind at most.
    max(price) as price,
    max(amount) as amount,
    max(converted_usdt_amount) as converted_usdt_amount,
    max(unpaid_qty) as unpaid_qty,
    max(unpaid_interest) as unpaid_interest
  from (
    select
      account,
      risk_unit_id,
      first_seen_at,
      coin,
      price,
      amount,
      converted_usdt_amount,
      null::numeric as unpaid_qty,
      null::numeric as unpaid_interest
    from ltv_collateral
    union all
    select account, risk_unit_id, first_seen_at, coin, null, null, null, unpaid_qty, unpaid_interest
    from ltv_debts
  ) as sides
  group by account, risk_unit_id, first_seen_at, coin
) as parts
  using (account, risk_unit_id, first_seen_at);

comment on view analytics.ltv_history is
  'Institutional loans: one row for each snapshot and coin; the rows of a snapshot repeat its totals.';
comment on column analytics.ltv_history.risk_unit_id is 'The requested risk unit; empty for the account''s own.';
comment on column analytics.ltv_history.first_seen_at is 'When this record was first seen.';
comment on column analytics.ltv_history.last_seen_at is 'When this record was last seen unchanged.';
comment on column analytics.ltv_history.ltv is 'The loan-to-value ratio as it was served.';
comment on column analytics.ltv_history.usdt_balance is 'Total assets in USDT, as served.';
comment on column analytics.ltv_history.unpaid_usdt_amount is 'Total debt in USDT, as served.';
comment on column analytics.ltv_history.price is 'The collateral coin''s price in USDT.';
comment on column analytics.ltv_history.amount is 'The amount of the collateral coin.';
comment on column analytics.ltv_history.converted_usdt_amount is 'Its value as collateral, in USDT.';
comment on column analytics.ltv_history.implied_haircut is 'The share of its value that does not count: 1 - converted / (price x amount).';
comment on column analytics.ltv_history.unpaid_qty is 'Debt in the coin.';
comment on column analytics.ltv_history.unpaid_interest is 'Interest on this debt.';
