import { minuteMs, secondMs } from "../../contract/time.ts";
import { type Database, inTransaction, type Transaction } from "../connect.ts";
import { usualStatementMaxMs } from "../connections.ts";
import { sqlStateOf } from "../database-errors.ts";

type Limits = { readonly lockMaxMs: number; readonly statementMaxMs: number };

// Long enough for another session to alter a table or build an index.
const usual: Limits = { lockMaxMs: minuteMs, statementMaxMs: usualStatementMaxMs };
// After a run has once waited for so long. Otherwise, where a node hangs that holds a tenth of the accounts, the
// run would wait that long for each of them.
const next: Limits = { lockMaxMs: secondMs, statementMaxMs: 15 * secondMs };

/**
 * Limits how long a run waits for locks that other sessions hold, and for statements that are not
 * answered. The long limits are for the whole run, not for each page and account.
 */
export class LockWaits {
  readonly #db: Database;
  #limits: Limits;

  constructor(db: Database, limits: Partial<Limits> = {}) {
    this.#db = db;
    this.#limits = { ...usual, ...limits };
  }

  /** Runs a transaction with the limits that it is handed. */
  async within<T>(run: (limits: Limits) => Promise<T>): Promise<T> {
    try {
      return await run(this.#limits);
    } catch (error) {
      const { lockMaxMs, statementMaxMs } = next;
      const state = sqlStateOf(error);
      if (state === "55P03") this.#limits = { ...this.#limits, lockMaxMs };
      if (state === "57014") this.#limits = { ...this.#limits, statementMaxMs };
      throw error;
    }
  }

  /** Runs work in a transaction with these limits. */
  transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.within((limits) => inTransaction(this.#db, work, limits));
  }
}
