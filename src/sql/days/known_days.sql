-- The days that may have bills: a dirty day may have none.
create or replace view public.known_days as
select account, wallet, day
from ledger_days
union
select account, wallet, day
from dirty_days;
