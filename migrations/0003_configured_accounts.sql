drop table added_accounts;
--> statement-breakpoint
alter table ledgers drop column paused_at;
