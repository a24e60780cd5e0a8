import { hourMs, secondMs } from "../contract/time.ts";
import { useOneMoment } from "./citus.ts";
import {
  type Database,
  type Execute,
  executeAtOnce,
  inTransaction,
  inTransactionAfter,
  type Transaction,
  type TransactionOptions,
} from "./connect.ts";

/**
 * Runs work on the tables as they are at one moment. The work cannot write, whatever it sends. The
 * transaction is read-only, not the session: behind a pooler, others would inherit a session's setting.
 */
export type Read = <T>(
  work: (tx: Transaction) => Promise<T>,
  /** How long the work may wait for a client between two statements. Default that of a transaction. */
  options?: Pick<TransactionOptions, "idleMaxMs">,
) => Promise<T>;

/** Does the same for one statement, in one round trip. */
export type ReadAtOnce = Execute;

// The client of the mirror or of the page does not wait longer for an answer.
const statementMaxMs = 20 * secondMs;

const isolation = "repeatable read read only";

/** The work's first statement is sent together with BEGIN, in one round trip. */
export const readOnly =
  (db: Database): Read =>
  (work, options = {}) =>
    inTransactionAfter(db, work, (_, read) => Promise.resolve(read), {
      ...options,
      isolation,
      statementMaxMs,
    });

/** @param keepsPlans for statements of few texts, on connections that keep their server process. */
export const readOnlyAtOnce =
  (db: Database, { keepsPlans }: { readonly keepsPlans: boolean }): ReadAtOnce =>
  (statement) =>
    executeAtOnce(db, statement, { isolation, statementMaxMs, keepsPlan: keepsPlans });

// Long, because the reader of the output sets the pace, and may be a person with a pager.
const idleMaxMs = hourMs;
// All bills of a ledger may be read and sorted before the first one is answered.
const snapshotMaxMs = hourMs;

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
    { isolation: "repeatable read read only", idleMaxMs, statementMaxMs: snapshotMaxMs },
  );
