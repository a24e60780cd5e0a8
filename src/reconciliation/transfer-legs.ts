import { sql } from "drizzle-orm";

/** The kinds of transfer whose other leg is in another product type of the account. */
export const isBetweenProducts = sql`business_type in ('trans_to_contract', 'trans_from_contract')`;

/** Whether any is among the checked bills: only then are transfers looked at. */
export const hasTransferLegs = sql`exists (select 1 from day_sums where ${isBetweenProducts})`;
