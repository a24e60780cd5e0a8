update ledger_breaks
set kind = 'unread'
where kind = 'chain-unread';
--> statement-breakpoint
update ledger_breaks
set kind = 'restated'
where kind = 'restatement';
--> statement-breakpoint
update ledger_breaks
set
  kind = 'ltv',
  anchor = anchor || ' ' || case kind when 'ltv-haircut' then coin else substring(kind from 5) end,
  coin = ''
where kind like 'ltv-%';
--> statement-breakpoint
-- A bill may have had breaks of several of these kinds, one after another: the newest keeps its place.
update ledger_breaks
set anchor = anchor || ' #' || break_id
where kind in ('chain', 'balance', 'duplicate', 'fee-sign', 'rounding')
  and exists (
    select 1
    from ledger_breaks as other
    where other.account = ledger_breaks.account
      and other.ledger = ledger_breaks.ledger
      and other.coin = ledger_breaks.coin
      and other.anchor = ledger_breaks.anchor
      and other.kind in ('chain', 'balance', 'duplicate', 'fee-sign', 'rounding')
      and (other.state <> 'resolved', other.break_id)
        > (ledger_breaks.state <> 'resolved', ledger_breaks.break_id)
  );
--> statement-breakpoint
update ledger_breaks
set kind = 'balance'
where kind in ('chain', 'duplicate', 'fee-sign', 'rounding', 'balance-now');
