import * as accounts from "./accounts-schema.ts";
import * as reconciliation from "./reconciliation-schema.ts";
import * as records from "./records-schema.ts";
import * as ledger from "./schema.ts";

/** Every table of the schema. */
export const tables = { ...ledger, ...accounts, ...records, ...reconciliation };
