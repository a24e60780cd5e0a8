import { sql } from "drizzle-orm";
import { hourMs } from "../contract/time.ts";
import { type Database, inTransaction, type Transaction } from "./connect.ts";

// Long, because the reader of the output sets the pace, and may be a person with a pager.
const idleMaxMs = hourMs;
// All bills of a ledger may be read and sorted before the first one is answered.
const statementMaxMs = hourMs;

/**
 * Runs work that sees the database as of one moment, and cannot write. In a distributed database the
 * moments of two nodes may differ, but an account's rows are all on one.
 */
export const inSnapshot = <T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(
    db,
    async (tx) => {
      await useOneMoment(tx);
      return work(tx);
    },
    { isolation: "repeatable read read only", idleMaxMs, statementMaxMs },
  );

/**
 * Several connections to a node would each see a moment of its own: a window as read, say, and not yet
 * its bills. Where the database is not distributed, the setting means nothing.
 */
export const useOneMoment = (tx: Transaction) =>
  tx.execute(sql`set local citus.max_adaptive_executor_pool_size = 1`);
