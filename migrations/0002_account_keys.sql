CREATE TABLE "account_keys" (
	"fingerprint" text COLLATE "C" PRIMARY KEY NOT NULL,
	"account" text COLLATE "C" NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "key_salt" (
	"is_only" boolean PRIMARY KEY NOT NULL,
	"salt" text NOT NULL,
	CONSTRAINT "key_salt_is_one_row" CHECK ("key_salt"."is_only")
);
