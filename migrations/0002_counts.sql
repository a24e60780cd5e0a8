CREATE TABLE "bill_counts" (
	"account" text COLLATE "C" NOT NULL,
	"product_type" text COLLATE "C" NOT NULL,
	"bills" bigint NOT NULL,
	CONSTRAINT "bill_counts_account_product_type_pk" PRIMARY KEY("account","product_type")
);
--> statement-breakpoint
INSERT INTO "bill_counts" ("account", "product_type", "bills")
SELECT "account", "product_type", count(*) FROM "bills" GROUP BY "account", "product_type" ORDER BY 1, 2;
