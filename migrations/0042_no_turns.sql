DROP TABLE IF EXISTS "meaning_turns";
--> statement-breakpoint
-- Rejected rows are accepted themselves, and are no break.
delete from "break_decisions"
where (account, break_id) in (select account, break_id from "ledger_breaks" where kind = 'quarantine');
--> statement-breakpoint
delete from "ledger_breaks" where kind = 'quarantine';
