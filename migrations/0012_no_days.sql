DROP TABLE "day_ends";--> statement-breakpoint
DROP TABLE "symbol_days";--> statement-breakpoint
DROP TABLE "type_days";
