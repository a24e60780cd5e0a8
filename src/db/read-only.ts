import { secondMs } from "../contract/time.ts";
import {
  type Database,
  type Execute,
  executeAtOnce,
  inTransaction,
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
  async <T>(
    work: (tx: Transaction) => Promise<T>,
    given: Pick<TransactionOptions, "idleMaxMs"> = {},
  ): Promise<T> => {
    let done: { readonly value: T } | undefined;
    const options = { ...given, isolation, statementMaxMs } as const;
    const check = async (tx: Transaction) => {
      done = { value: await work(tx) };
    };
    await inTransaction(db, async () => undefined, { ...options, check });
    if (done === undefined) throw new Error("defect: a transaction ended without its work");
    return done.value;
  };

export const readOnlyAtOnce =
  (db: Database): ReadAtOnce =>
  (statement) =>
    executeAtOnce(db, statement, { isolation, statementMaxMs });
