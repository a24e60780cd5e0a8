import { sql } from "drizzle-orm";

/** The types of transfer whose other leg is in another product type of the account. */
export const isBetweenProducts = sql`business_type in ('trans_to_contract', 'trans_from_contract')`;

/** Whether the checked bills have such transfers. Legs are compared only then. */
export const hasTransferLegs = sql`exists (select 1 from day_sums where ${isBetweenProducts})`;
