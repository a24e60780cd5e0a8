import { sql } from "drizzle-orm";

/** Whether a row of `streams` is a ledger, and not only a state: of a whole account, or of one that was never read. */
export const isLedger = sql`(settled_to is not null or bills > 0)`;
