import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Assume, SQL } from "drizzle-orm";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { PgDialect } from "drizzle-orm/pg-core";
import type pg from "pg";
import { hourMs, secondMs } from "../../lib/time.ts";
import {
  assertCommitted,
  Connections,
  connectionOf,
  openPool,
  type StatementLimit,
  serverVersionOf,
  usualStatementMaxMs,
  withConnection,
} from "./connections.ts";
import { withDatabaseErrors } from "./database-errors.ts";

declare const isTransaction: unique symbol;

/** Takes statements, inside or outside of a transaction: for reads, and for work of one statement. */
export type Queryable = Omit<NodePgDatabase, "transaction">;
/** A pool of connections. Transactions are run by {@link inTransaction}, not by Drizzle. */
export type Database = Queryable & { readonly $client: pg.Pool };
/**
 * One connection, in a transaction. Only {@link inTransaction} makes one, so that a function that must
 * write in a transaction cannot be given a {@link Database}.
 */
export type Transaction = Connection & { readonly [isTransaction]: true };
/** One connection, outside of a transaction. */
type Connection = Queryable & {
  /** For statements that Drizzle does not have. */
  readonly $client: {
    query<Sent extends pg.Submittable>(query: Sent): Sent;
    query<Row extends unknown[]>(statement: pg.QueryArrayConfig): Promise<pg.QueryArrayResult<Row>>;
  };
};

/** Runs one statement. The caller need not know on which connection. */
export type Execute = <Row extends Record<string, unknown>>(
  statement: SQL,
) => PromiseLike<Answered<Row>>;
type Answered<Row> = pg.QueryResult<Assume<Row, pg.QueryResultRow>>;

/** An open pool. Each statement has a time limit, and so has the wait for a connection. */
export type OpenDatabase = AsyncDisposable & { readonly db: Database };

// How long closing the pool waits for a statement that hangs.
const closeTimeoutMs = 2 * secondMs;
// How long a process that is frozen in a transaction, or whose machine is gone, keeps its locks.
// Without this limit the server's TCP keepalive decides, which is two hours.
const transactionIdleMaxMs = 15 * secondMs;
// Long enough for others to alter a table. A longer wait is reported: each account whose node hangs costs as long.
const usualLockMaxMs = 20 * secondMs;

/** Opens a pool. Nothing is sent before the first statement. @throws as {@link openPool} does. */
export function openDatabase(url: string, options?: StatementLimit): OpenDatabase {
  const pool = openPool(url, options);
  const db = drizzle(pool);
  explainFailures(db);
  return {
    db,
    async [Symbol.asyncDispose]() {
      await Promise.race([pool.end(), delay(closeTimeoutMs, undefined, { ref: false })]);
    },
  };
}

/** Of statements outside of transactions, whose failures {@link withConnection} explains. */
function explainFailures({ _: { session } }: NodePgDatabase): void {
  const prepare = session.prepareQuery.bind(session);
  session.prepareQuery = (...query) => {
    const prepared = prepare(...query);
    const execute = prepared.execute.bind(prepared);
    return Object.assign(prepared, {
      execute: (...values: Parameters<typeof execute>) =>
        withDatabaseErrors(() => execute(...values)),
    });
  };
}

/** Limits on the server. The client gives up later than the server does. */
export type TransactionOptions = StatementLimit & {
  /**
   * Default read committed, whatever the database's own default is: a page that waited for the
   * account's lock must see what was committed meanwhile.
   */
  readonly isolation?: "read committed" | "repeatable read" | "repeatable read read only";
  /** How long the transaction may wait for this process. Default 15 s. */
  readonly idleMaxMs?: number;
  /** How long each of its statements may wait for a lock. Default 20 s. */
  readonly lockMaxMs?: number;
  /**
   * Whether a statement may be sent before the last one is answered, so that statements that do not
   * depend on each other take one round trip. COPY streams need false. Default true.
   */
  readonly isPipelined?: boolean;
};

/**
 * The statements that begin a transaction, as one message. Row-level security would filter what is read, in
 * silence: with `row_security` off, the server refuses instead. From version 17 on, the server may limit whole
 * transactions, too; those of this program are limited statement by statement. With `array_nulls` off, an old setting, a
 * null in a list of parameters would be stored as the text "null". To JIT-compile a view of days, whose cost the planner
 * overestimates, takes 1.6 s where running it takes 8 ms.
 */
const beginText = (
  client: pg.PoolClient,
  {
    isolation = "read committed",
    statementMaxMs = usualStatementMaxMs,
    idleMaxMs = transactionIdleMaxMs,
    lockMaxMs = usualLockMaxMs,
  }: TransactionOptions,
) => `
  begin isolation level ${isolation};
  set local row_security = off;
  set local jit = off;
  set local array_nulls = on;
  set local statement_timeout = ${statementMaxMs};
  set local lock_timeout = ${lockMaxMs};
  set local idle_in_transaction_session_timeout = ${idleMaxMs}${
    serverVersionOf(client) >= 17 ? "; set local transaction_timeout = 0" : ""
  }`;

/**
 * Runs work in one transaction. Where the work fails its connection is closed, which makes the server
 * roll back. Sending a rollback would wait for a statement that hangs, and a connection that went
 * back to the pool in mid-statement would run the next caller's statements in the old transaction.
 */
export function inTransaction<T>(
  db: Database,
  work: (tx: Transaction) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  return inTransactionAfter(db, () => Promise.resolve(), work, options);
}

/**
 * The same for work that reads something first. The reads are sent together with BEGIN, in one round trip.
 * They must write nothing: where BEGIN fails, they run outside of a transaction. A read that must come first
 * must send its statement before it awaits anything else.
 */
export function inTransactionAfter<T, Read>(
  db: Database,
  read: (tx: Transaction) => Promise<Read>,
  work: (tx: Transaction, read: Read) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  return withConnection(db.$client.connect(), options, async (client) => {
    const tx = transactionOn(client);
    const result = await work(tx, await begin(client, read, options));
    assertCommitted(await client.query(commitText));
    return result;
  });
}

export async function begin<Read>(
  client: pg.PoolClient,
  read: (tx: Transaction) => Promise<Read>,
  options: TransactionOptions,
): Promise<Read> {
  // In this order: Drizzle sends a statement only once it is awaited, and BEGIN must be sent first.
  const beginning = client.query({ text: beginText(client, options) });
  // Where the read throws before it returns a promise, BEGIN's failure is handled all the same.
  const [, found] = await Promise.all([beginning, Promise.try(read, transactionOn(client))]);
  return found;
}

export const commitText = { text: "commit" };

/**
 * Settings for a plan that the server keeps, which halves the CPU of a page of the mirror. It is made for an account
 * of average size, and may sort a large ledger whole (255 ms for 100,000 bills): unless it follows the index (0.5 ms).
 */
const keptPlan = `;
  set local plan_cache_mode = force_generic_plan;
  set local enable_sort = off;
  set local enable_seqscan = off`;

type AtOnceOptions = Pick<TransactionOptions, "isolation" | "statementMaxMs"> & {
  /** Whether the server keeps the statement's plan. Only if {@link isDirect}. Default false. */
  readonly keepsPlan?: boolean;
};

/**
 * Runs one statement in a transaction of its own, sent in one write for one round trip.
 * @throws as {@link inTransaction} does.
 */
async function executeAtOnce<Row extends Record<string, unknown>>(
  db: Database,
  statement: SQL,
  { keepsPlan = false, ...options }: AtOnceOptions,
): Promise<Answered<Row>> {
  const { sql: text, params: values } = dialect.sqlToQuery(statement);
  const name = keepsPlan ? { name: hash("sha256", text, "base64url") } : {};
  return withConnection(db.$client.connect(), options, async (client) => {
    const { stream } = connectionOf(client);
    stream.cork();
    const answers = [
      client.query(beginText(client, options) + (keepsPlan ? keptPlan : "")),
      client.query<Assume<Row, pg.QueryResultRow>>({ ...name, text, values }),
      client.query(commitText),
    ] as const;
    stream.uncork();
    const [, answer] = await Promise.all(answers);
    return answer;
  });
}

const dialect = new PgDialect();

/** The only cast to {@link Transaction}. */
export const transactionOn = (client: pg.PoolClient) =>
  drizzle(client) as Connection as Transaction;

/**
 * Runs statements outside of a transaction, on a connection that is lent before all other waiting
 * work: for lease renewals, say, which must be in time.
 */
export async function urgently<T>(
  db: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const pool = db.$client;
  const connecting = pool instanceof Connections ? pool.connectFirst() : pool.connect();
  return withConnection(connecting, {}, (client) => work(drizzle(client)));
}

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
const readOnlyIsolation = "repeatable read read only";
const readOptions = { isolation: readOnlyIsolation, statementMaxMs: 20 * secondMs } as const;

/** The work's first statement is sent together with BEGIN, in one round trip. */
export const readOnly =
  (db: Database): Read =>
  (work, options = {}) =>
    inTransactionAfter(db, work, (_, read) => Promise.resolve(read), {
      ...options,
      ...readOptions,
    });

/** @param keepsPlan for statements of few texts, on connections that keep their server process. */
export const readOnlyAtOnce =
  (db: Database, keepsPlan: boolean): ReadAtOnce =>
  (statement) =>
    executeAtOnce(db, statement, { ...readOptions, keepsPlan });

/**
 * Runs work that sees the database as of one moment, and cannot write.
 */
export const inSnapshot = <T>(db: Database, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(
    db,
    work,
    // Long, because the reader of the output sets the pace, and may be a person with a pager, and because all
    // bills of a ledger may be read and sorted before the first one is answered.
    { isolation: readOnlyIsolation, idleMaxMs: hourMs, statementMaxMs: hourMs },
  );
