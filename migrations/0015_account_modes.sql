ALTER TABLE "stream_states" ADD COLUMN "mode" text;--> statement-breakpoint
ALTER TABLE "stream_states" ADD COLUMN "mode_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "stream_states" ADD COLUMN "not_available_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "stream_states" ADD COLUMN "not_available_asked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "stream_states" ADD COLUMN "not_available_reason" text;--> statement-breakpoint
ALTER TABLE "stream_states" ADD COLUMN "closed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "stream_states" ADD CONSTRAINT "stream_states_mode" CHECK ("stream_states"."mode" in ('classic', 'unified'));