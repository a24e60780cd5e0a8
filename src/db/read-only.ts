import { secondMs } from "../contract/time.ts";
import {
  type Database,
  type Execute,
  executeAtOnce,
  inTransactionAfter,
  type Transaction,
  type TransactionOptions,
} from "./connect.ts";

/**
 * Runs work on the tables as they are at one moment. It cannot write, whatever it sends. A session's
 * own setting would be left behind in a pooler, for others.
 */
export type Read = <T>(
  work: (tx: Transaction) => Promise<T>,
  /** How long the work may wait for a client between two statements. Default that of a transaction. */
  options?: Pick<TransactionOptions, "idleMaxMs">,
) => Promise<T>;

/** Reads by one statement, likewise, in one round trip. */
export type ReadAtOnce = Execute;

// Whoever waits for an answer waits no longer than this.
const statementMaxMs = 20 * secondMs;

const isolation = "repeatable read read only";

/** What the work sends first goes with the transaction's beginning, in one round trip. */
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
