alter table ledgers rename column closed_at to ended_at;
--> statement-breakpoint
update ledgers
set tax_comparison = replace(replace(tax_comparison::text, '"unrecovered"', '"partlyRecovered"'), '"withheld"', '"notRecoveredReason"')::json
where tax_comparison is not null;
--> statement-breakpoint
update ledger_breaks
set kind = 'rows-gone'
where kind = 'deleted';
--> statement-breakpoint
update ledger_breaks
set kind = 'chain-unread'
where kind = 'unread';
--> statement-breakpoint
update bills
set source = 'tax-records'
where source = 'tax';
--> statement-breakpoint
update bill_revisions
set source = 'tax-records'
where source = 'tax';
--> statement-breakpoint
update rejected_bills
set source = 'tax-records'
where source = 'tax';
