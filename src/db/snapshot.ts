import { hourMs } from "../contract/time.ts";
import { type Database, inTransaction, type Transaction } from "./connect.ts";

// Long, because the reader of the output sets the pace, and may be a person with a pager.
const idleMaxMs = hourMs;
// All bills of a ledger may be read and sorted before the first one is answered.
const statementMaxMs = hourMs;

/** Runs work that sees the database as of one moment, and cannot write. */
export const inSnapshot = <T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(db, work, { isolation: "repeatable read read only", idleMaxMs, statementMaxMs });
