import { sql } from "drizzle-orm";
import { minuteMs, secondMs } from "../../contract/time.ts";
import { DatabaseSilentError } from "../../errors.ts";
import { printableLine } from "../../printable.ts";
import {
  type Database,
  inTransaction,
  type Transaction,
  type TransactionOptions,
  urgently,
} from "../connect.ts";
import { usualStatementMaxMs } from "../connections.ts";
import { sqlStateOf } from "../database-errors.ts";

const usualTiming = {
  /** How long a run waits for a lock: long enough for another session to alter a table or build an index. */
  maxMs: minuteMs,
  /** After a run has once waited so long, it waits no longer than this for any lock. */
  nextMaxMs: secondMs,
  lookEveryMs: 5 * secondMs,
  statementMaxMs: usualStatementMaxMs,
  // After one statement took longer than the usual limit, this is the limit for all others. Otherwise,
  // where a node hangs that holds a tenth of the accounts, the run would wait that long for each of them.
  nextStatementMaxMs: 15 * secondMs,
};

/**
 * Limits how long a run waits for locks that other sessions hold, and for statements that are not
 * answered. The long limits are for the whole run, not for each page and account. The error names the
 * session that held the lock.
 */
export class LockWaits {
  readonly #db: Database;
  readonly #timing: typeof usualTiming;
  #isSpent = false;
  #isOverdue = false;
  #blocker: Blocker | undefined;
  #nextLookAt = 0;

  constructor(db: Database, timing: Partial<typeof usualTiming> = {}) {
    this.#db = db;
    this.#timing = { ...usualTiming, ...timing };
  }

  /**
   * Runs a transaction with the limits that it is handed.
   * @throws DatabaseSilentError if the limit on a lock was reached.
   */
  async within<T>(run: (limits: TransactionOptions) => Promise<T>): Promise<T> {
    const { maxMs, nextMaxMs, statementMaxMs, nextStatementMaxMs, lookEveryMs } = this.#timing;
    const looking = setInterval(() => this.#look(), lookEveryMs);
    try {
      return await run({
        lockMaxMs: this.#isSpent ? nextMaxMs : maxMs,
        statementMaxMs: this.#isOverdue ? nextStatementMaxMs : statementMaxMs,
      });
    } catch (error) {
      const state = sqlStateOf(error);
      this.#isOverdue ||= state === "57014";
      if (state !== "55P03") throw error;
      this.#isSpent = true;
      throw new DatabaseSilentError(waitedInVain(maxMs, this.#blocker), { cause: error });
    } finally {
      clearInterval(looking);
    }
  }

  /** Runs work in a transaction with these limits. @throws as `within` does. */
  transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.within((limits) => inTransaction(this.#db, work, limits));
  }

  /**
   * Looks for the blocking session while the work waits: afterwards the server no longer knows. All
   * waiting work of the run shares one look. When 20 accounts each looked by themselves on a line of
   * 24 kB/s, the renewals of their leases waited for eleven looks, 1 s each, and came too late.
   */
  #look(): void {
    const now = performance.now();
    if (now < this.#nextLookAt) return;
    this.#nextLookAt = Number.POSITIVE_INFINITY;
    readBlocker(this.#db)
      .then((blocker) => {
        this.#blocker = blocker ?? this.#blocker;
      })
      .catch(() => undefined)
      .finally(() => {
        this.#nextLookAt = now + this.#timing.lookEveryMs;
      });
  }
}

type Blocker = { readonly pid: number; readonly session: string };

/** The session at the head of the queue: a session of this user waits for its lock, and it waits for nobody. */
async function readBlocker(db: Database): Promise<Blocker | undefined> {
  // What the server hides from this role is null, and left out.
  const { rows } = await urgently(db, (connection) =>
    connection.execute<Blocker>(sql`
      select
        blocker.pid,
        concat_ws(
          ' ',
          'process ' || blocker.pid,
          'of user ' || blocker.usename,
          '(' || nullif(blocker.application_name, '') || ')',
          'in a transaction for '
            || floor(extract(epoch from clock_timestamp() - blocker.xact_start) / 60) || ' min',
          'with "' || nullif(left(blocker.query, 80), '') || '"'
        ) as session
      from pg_stat_activity as waiting
      cross join unnest(pg_blocking_pids(waiting.pid)) as blocking (pid)
      join pg_stat_activity as blocker on blocker.pid = blocking.pid
      where waiting.datname = current_database()
        and waiting.usename = current_user
        and waiting.wait_event_type = 'Lock'
        and blocker.wait_event_type is distinct from 'Lock'
      order by blocker.xact_start
      limit 1`),
  );
  return rows[0];
}

function waitedInVain(ms: number, blocker: Blocker | undefined): string {
  const who =
    blocker === undefined
      ? "; find it in pg_locks and pg_stat_activity, let it end, and run again"
      : `: ${printableLine(blocker.session)}; let it end, or end it by ` +
        `select pg_terminate_backend(${blocker.pid}), and run again`;
  return (
    `this run waited ${ms / secondMs} s for a lock that another session holds${who}; ` +
    "what was committed is kept"
  );
}
