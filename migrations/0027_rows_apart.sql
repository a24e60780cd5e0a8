CREATE SEQUENCE "ledger_break_ids";--> statement-breakpoint
SELECT setval('ledger_break_ids', max("break_id")) FROM "ledger_breaks" HAVING max("break_id") IS NOT NULL;--> statement-breakpoint
CREATE TABLE "meaning_turns" ("turn" integer NOT NULL) PARTITION BY LIST ("turn");--> statement-breakpoint
CREATE TABLE "meaning_turns_0" PARTITION OF "meaning_turns" FOR VALUES IN (0);--> statement-breakpoint
CREATE TABLE "meaning_turns_1" PARTITION OF "meaning_turns" FOR VALUES IN (1);--> statement-breakpoint
CREATE TABLE "meaning_turns_2" PARTITION OF "meaning_turns" FOR VALUES IN (2);--> statement-breakpoint
CREATE TABLE "meaning_turns_3" PARTITION OF "meaning_turns" FOR VALUES IN (3);--> statement-breakpoint
CREATE TABLE "meaning_turns_4" PARTITION OF "meaning_turns" FOR VALUES IN (4);--> statement-breakpoint
CREATE TABLE "meaning_turns_5" PARTITION OF "meaning_turns" FOR VALUES IN (5);--> statement-breakpoint
CREATE TABLE "meaning_turns_6" PARTITION OF "meaning_turns" FOR VALUES IN (6);--> statement-breakpoint
CREATE TABLE "meaning_turns_7" PARTITION OF "meaning_turns" FOR VALUES IN (7);--> statement-breakpoint
CREATE TABLE "meaning_turns_8" PARTITION OF "meaning_turns" FOR VALUES IN (8);--> statement-breakpoint
CREATE TABLE "meaning_turns_9" PARTITION OF "meaning_turns" FOR VALUES IN (9);--> statement-breakpoint
CREATE TABLE "meaning_turns_10" PARTITION OF "meaning_turns" FOR VALUES IN (10);--> statement-breakpoint
CREATE TABLE "meaning_turns_11" PARTITION OF "meaning_turns" FOR VALUES IN (11);--> statement-breakpoint
CREATE TABLE "meaning_turns_12" PARTITION OF "meaning_turns" FOR VALUES IN (12);--> statement-breakpoint
CREATE TABLE "meaning_turns_13" PARTITION OF "meaning_turns" FOR VALUES IN (13);--> statement-breakpoint
CREATE TABLE "meaning_turns_14" PARTITION OF "meaning_turns" FOR VALUES IN (14);--> statement-breakpoint
CREATE TABLE "meaning_turns_15" PARTITION OF "meaning_turns" FOR VALUES IN (15);
