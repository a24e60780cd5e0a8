ALTER TABLE "streams" ADD COLUMN "retired_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "closed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "not_available_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "not_available_asked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "not_available_reason" text;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "paused_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "is_demo" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "mode" text;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "mode_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "unproven_key" text;--> statement-breakpoint
ALTER TABLE "streams" ADD COLUMN "unproven_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "streams" ADD CONSTRAINT "streams_mode" CHECK ("streams"."mode" in ('classic', 'unified'));--> statement-breakpoint
INSERT INTO "streams" ("account", "product_type", "retired_at", "closed_at", "not_available_since", "not_available_asked_at", "not_available_reason", "paused_at", "is_demo", "mode", "mode_since", "unproven_key", "unproven_since")
SELECT "account", "product_type", "retired_at", "closed_at", "not_available_since", "not_available_asked_at", "not_available_reason", "paused_at", "is_demo", "mode", "mode_since", "unproven_key", "unproven_since"
FROM "stream_states"
ON CONFLICT ("account", "product_type") DO UPDATE SET
  "retired_at" = excluded."retired_at", "closed_at" = excluded."closed_at",
  "not_available_since" = excluded."not_available_since", "not_available_asked_at" = excluded."not_available_asked_at",
  "not_available_reason" = excluded."not_available_reason", "paused_at" = excluded."paused_at",
  "is_demo" = excluded."is_demo", "mode" = excluded."mode", "mode_since" = excluded."mode_since",
  "unproven_key" = excluded."unproven_key", "unproven_since" = excluded."unproven_since";--> statement-breakpoint
DROP TABLE "stream_states" CASCADE;
