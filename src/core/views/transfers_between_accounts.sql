-- Both sides are read once, and their join is made of what was read: see the rules for distributed databases.
create or replace view analytics.transfers_between_accounts as
with legs as materialized (
  select *
  from analytics.transfers
  where state = 'unpaired'
    and amount <> 0
),
pairs as (
  select
    sent.account as from_account,
    sent.product_type as from_product_type,
    sent.bill_id as from_bill_id,
    sent.c_time as sent_at,
    received.account as to_account,
    received.product_type as to_product_type,
    received.bill_id as to_bill_id,
    received.c_time as received_at,
    sent.coin,
    received.amount,
    row_number() over (
      partition by sent.account, sent.product_type, sent.bill_id
      order by abs(extract(epoch from received.c_time - sent.c_time)), received.account, received.bill_id
    ) as best_of_sent,
    row_number() over (
      partition by received.account, received.product_type, received.bill_id
      order by abs(extract(epoch from received.c_time - sent.c_time)), sent.account, sent.bill_id
    ) as best_of_received
  from legs as sent
  join legs as received
    on received.coin = sent.coin
    and received.amount = -sent.amount
    and received.account <> sent.account
    and received.c_time between sent.c_time - interval '60 seconds' and sent.c_time + interval '60 seconds'
  where sent.amount < 0
)
select
  from_account,
  from_product_type,
  from_bill_id,
  sent_at,
  to_account,
  to_product_type,
  to_bill_id,
  received_at,
  coin,
  amount
from pairs
where best_of_sent = 1
  and best_of_received = 1;

comment on view analytics.transfers_between_accounts is
  'Transfers whose two legs are in two accounts, such as a main and a sub-account: of equal amounts, a minute apart at most. The view reads the transfers of all accounts.';
comment on column analytics.transfers_between_accounts.from_account is 'The account that sent.';
comment on column analytics.transfers_between_accounts.from_product_type is 'The product type that sent.';
comment on column analytics.transfers_between_accounts.from_bill_id is 'The bill of the leg that sent.';
comment on column analytics.transfers_between_accounts.sent_at is 'The time of that leg.';
comment on column analytics.transfers_between_accounts.to_account is 'The account that received.';
comment on column analytics.transfers_between_accounts.to_product_type is 'The product type that received.';
comment on column analytics.transfers_between_accounts.to_bill_id is 'The bill of the leg that received.';
comment on column analytics.transfers_between_accounts.received_at is 'The time of that leg.';
comment on column analytics.transfers_between_accounts.amount is 'How much was received, positive.';
