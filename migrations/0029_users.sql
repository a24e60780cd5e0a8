ALTER TABLE "account_leases" ADD COLUMN "uid" text;--> statement-breakpoint
CREATE INDEX "account_leases_user" ON "account_leases" USING btree ("uid") WHERE "account_leases"."uid" is not null;