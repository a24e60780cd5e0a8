CREATE TABLE "account_guests" (
	"account" text COLLATE "C" PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"epoch" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "account_leases" ADD COLUMN "yielded_to" bigint;