import { sql } from "drizzle-orm";
import pg from "pg";
import { systemClock } from "../../clock.ts";
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
import { isOverdue } from "../database-errors.ts";

const lockTimedOut = "55P03";

type Timing = {
  readonly maxMs: number;
  readonly nextMaxMs: number;
  readonly lookEveryMs: number;
  readonly statementMaxMs?: number;
  readonly nextStatementMaxMs?: number;
};

const usualTiming: Timing = {
  // Long enough for another session to alter a table or build an index.
  maxMs: minuteMs,
  // After a run has once waited maxMs, it waits no longer than this for any lock.
  nextMaxMs: secondMs,
  lookEveryMs: 5 * secondMs,
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
  readonly #timing: Timing;
  #isSpent = false;
  #isOverdue = false;
  #blocker: Blocker | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #isLooking = false;

  constructor(db: Database, timing: Timing = usualTiming) {
    this.#db = db;
    this.#timing = timing;
  }

  /**
   * Runs work with a limit on its waiting for each lock.
   * @throws DatabaseSilentError if the limit was reached.
   */
  async limit<T>(work: (lockMaxMs: number) => Promise<T>): Promise<T> {
    const over = new AbortController();
    this.#look(over.signal).catch(() => undefined);
    const maxMs = this.#isSpent ? this.#timing.nextMaxMs : this.#timing.maxMs;
    try {
      return await work(maxMs);
    } catch (error) {
      this.#isOverdue ||= isOverdue(error);
      if (!isLockTimeout(error)) throw error;
      this.#isSpent = true;
      throw new DatabaseSilentError(waitedInVain(this.#timing.maxMs, this.#blocker), {
        cause: error,
      });
    } finally {
      over.abort();
    }
  }

  /**
   * Runs work in a transaction with that limit.
   * @throws DatabaseSilentError if the limit was reached.
   */
  transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.within((limits) => inTransaction(this.#db, work, limits));
  }

  /** Runs a transaction with the limits that it is handed. @throws as `transact` does. */
  within<T>(run: (limits: TransactionOptions) => Promise<T>): Promise<T> {
    const { statementMaxMs, nextStatementMaxMs } = this.#timing;
    const given = this.#isOverdue ? nextStatementMaxMs : statementMaxMs;
    const limits = given === undefined ? {} : { statementMaxMs: given };
    return this.limit((lockMaxMs) => run({ ...limits, lockMaxMs }));
  }

  /**
   * Looks for the blocking session while the work waits: afterwards the server no longer knows. All
   * waiting work of the run shares one look. When 20 accounts each looked by themselves on a line of
   * 24 kB/s, the renewals of their leases waited for eleven looks, 1 s each, and came too late.
   */
  async #look(signal: AbortSignal): Promise<void> {
    const { lookEveryMs } = this.#timing;
    for (;;) {
      await systemClock.sleep(lookEveryMs, signal);
      const now = performance.now();
      if (this.#isLooking || now - this.#lookedAt < lookEveryMs) continue;
      this.#lookedAt = now;
      this.#isLooking = true;
      try {
        this.#blocker = (await readBlocker(this.#db)) ?? this.#blocker;
      } finally {
        this.#isLooking = false;
      }
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.code === lockTimedOut;
}

type Blocker = {
  readonly pid: number;
  readonly user: string | null;
  readonly application: string | null;
  readonly minutes: number | null;
  /** The beginning of the session's last statement; null where the server hides it from this role. */
  readonly query: string | null;
};

/** The session at the head of the queue: a session of this user waits for its lock, and it waits for nobody. */
async function readBlocker(db: Database): Promise<Blocker | undefined> {
  const { rows } = await urgently(db, (connection) =>
    connection.execute<Blocker>(sql`
      select
        blocker.pid,
        blocker.usename as user,
        nullif(blocker.application_name, '') as application,
        floor(extract(epoch from clock_timestamp() - blocker.xact_start) / 60)::int as minutes,
        left(blocker.query, 80) as query
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
  const waited = `this run waited ${ms / secondMs} s for a lock that another session holds`;
  const kept = "what was committed is kept";
  if (blocker === undefined) {
    return `${waited}; find it in pg_locks and pg_stat_activity, let it end, and run again; ${kept}`;
  }
  const { pid, user, application, minutes, query } = blocker;
  const who = [
    `process ${pid}`,
    ...(user === null ? [] : [`of user ${user}`]),
    ...(application === null ? [] : [`(${application})`]),
    ...(minutes === null ? [] : [`in a transaction for ${minutes} min`]),
    ...(query === null || query === "" ? [] : [`with "${query}"`]),
  ].join(" ");
  return (
    `${waited}: ${printableLine(who)}; let it end, or end it by ` +
    `select pg_terminate_backend(${pid}), and run again; ${kept}`
  );
}
