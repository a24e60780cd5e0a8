import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Assume, SQL } from "drizzle-orm";
import { DrizzleQueryError } from "drizzle-orm/errors";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { PgDialect } from "drizzle-orm/pg-core";
import pg from "pg";
import { minuteMs, secondMs } from "../contract/time.ts";
import { DatabaseError, messageOf } from "../errors.ts";
import { Connections, connectMaxMs } from "./connections.ts";

declare const isTransaction: unique symbol;

/** For what reads, or is one statement: it runs in a transaction or outside of one. */
export type Queryable = Omit<NodePgDatabase, "transaction">;
/** A pool of connections. Its transactions are {@link inTransaction}'s, not Drizzle's. */
export type Database = Queryable & { readonly $client: pg.Pool };
/**
 * One connection, in a transaction: made by {@link inTransaction} only, so that what must be written
 * in one transaction cannot be written through a {@link Database}.
 */
export type Transaction = Connection & { readonly [isTransaction]: true };
/** One connection, outside of a transaction. */
export type Connection = Queryable & {
  /** For statements that Drizzle does not have. */
  readonly $client: { query<Sent extends pg.Submittable>(query: Sent): Sent };
};

/** Runs a statement, wherever that is done. */
export type Execute = <Row extends Record<string, unknown>>(
  statement: SQL,
) => PromiseLike<Answered<Row>>;
type Answered<Row> = pg.QueryResult<Assume<Row, pg.QueryResultRow>>;

/** Each statement is bounded, and with it the wait for a connection. */
export type OpenDatabase = AsyncDisposable & { readonly db: Database };

const usualStatementMaxMs = 2 * minuteMs;
// Closing the pool does not wait longer for a statement that hangs.
const closeTimeoutMs = 2 * secondMs;
// A process that stands still in a transaction, or whose machine is gone, holds its locks no
// longer than this; without it the server's TCP keepalive decides, which is two hours.
const transactionIdleMaxMs = 15 * secondMs;
// Others alter tables and build indexes, too. Longer, and somebody should know.
const usualLockMaxMs = minuteMs;

/** How long a statement may take. Default two minutes. */
export type StatementLimit = { readonly statementMaxMs?: number };

type ConnectionOptions = StatementLimit & {
  /** What the server shows of its sessions, up to 63 bytes. */
  readonly applicationName?: string;
};

/**
 * Opens a pool. Nothing is sent before the first statement.
 * @throws DatabaseError where the URL asks for what there is not, a certificate file for one.
 */
export function openDatabase(
  url: string,
  { statementMaxMs = usualStatementMaxMs, applicationName = "bill-sync" }: ConnectionOptions = {},
): OpenDatabase {
  const config: pg.PoolConfig = {
    connectionString: withVerifiedTls(url),
    // At the client: a pooler in transaction mode refuses a statement_timeout at the start. Later
    // than the server's own limit in a transaction, so that the server can say it first.
    query_timeout: statementMaxMs + connectMaxMs,
    application_name: applicationName,
    keepAlive: true,
    // Unless the URL says otherwise; PGSSLNEGOTIATION=direct would rule out sslmode=disable.
    sslnegotiation: "postgres",
  };
  refuseUnusable(config);
  const pool = new Connections(config);
  // Whatever prints a pool, or an error that holds one, would print the password with the URL.
  Object.defineProperty(pool.options, "connectionString", { enumerable: false });
  // A connection that breaks between two statements would end the process: the next statement
  // gets a new connection, or the error.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return {
    db: drizzle(pool),
    async [Symbol.asyncDispose]() {
      await Promise.race([pool.end(), delay(closeTimeoutMs, undefined, { ref: false })]);
    },
  };
}

/** A client reads the URL, and the files that it names, as soon as it is made. */
function refuseUnusable(config: pg.ClientConfig): void {
  try {
    new pg.Client(config);
  } catch (cause) {
    throw new DatabaseError(`DATABASE_URL cannot be used (${messageOf(cause)}); correct it`, {
      cause,
    });
  }
}

/**
 * The driver takes these modes for `verify-full`, with a warning on stderr that it will not do so
 * for ever. Who wants less says `sslmode=no-verify` or `uselibpqcompat=true`.
 */
function withVerifiedTls(url: string): string {
  return url.includes("uselibpqcompat=true")
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

/** On the server; see {@link openDatabase} for how long an answer is waited for. */
export type TransactionOptions = StatementLimit & {
  /**
   * Default read committed, whatever the database's own is: a page that waited for the account's
   * row must see what was committed meanwhile.
   */
  readonly isolation?: "read committed" | "repeatable read" | "repeatable read read only";
  /** How long the transaction may wait for this process. Default 15 s. */
  readonly idleMaxMs?: number;
  /** How long each of its statements may wait for a lock. Default a minute. */
  readonly lockMaxMs?: number;
  /**
   * Whether a statement may be sent before the last one is answered: what need not wait for one
   * another takes one round trip. A stream of COPY cannot be among them. Default true.
   */
  readonly isPipelined?: boolean;
};

/** One message. */
const beginText = ({
  isolation = "read committed",
  statementMaxMs = usualStatementMaxMs,
  idleMaxMs = transactionIdleMaxMs,
  lockMaxMs = usualLockMaxMs,
}: TransactionOptions) => `
  begin isolation level ${isolation};
  set local statement_timeout = ${statementMaxMs};
  set local lock_timeout = ${lockMaxMs};
  set local idle_in_transaction_session_timeout = ${idleMaxMs}`;

/**
 * Runs work in one transaction. The connection of one that fails is closed, which undoes it on
 * the server: a rollback would wait behind a statement that hangs, and a connection that goes
 * back to the pool in mid-statement would run the next user's statements in the old transaction.
 */
export function inTransaction<T>(
  db: Database,
  work: (tx: Transaction) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  return inTransactionAfter(db, () => Promise.resolve(), work, options);
}

/**
 * The same, where the work needs to read something first. That is sent with the transaction's beginning, in
 * one round trip. It must write nothing: where the beginning fails, there is no transaction.
 */
export function inTransactionAfter<T, Read>(
  db: Database,
  read: (tx: Transaction) => Promise<Read>,
  work: (tx: Transaction, read: Read) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  return lent(db.$client.connect(), options.isPipelined ?? true, async (client) => {
    const tx = transactionOn(client);
    // Drizzle sends when it is waited for: the beginning must be first.
    const beginning = client.query({ text: beginText(options) });
    const [, found] = await Promise.all([beginning, read(tx)]);
    const result = await work(tx, found);
    const { command } = await tx.execute("commit");
    // What the server answers where a statement had failed and the work went on.
    if (command !== "COMMIT") throw new Error(`defect: the commit ended in ${command}`);
    return result;
  });
}

/** Works on a connection, which is closed where the work fails. */
async function lent<T>(
  connecting: Promise<pg.PoolClient>,
  isPipelined: boolean,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await connecting;
  const connection = connectionOf(client);
  let first: unknown;
  const onFailure = (failure: unknown) => {
    first ??= failure;
  };
  connection.on("errorMessage", onFailure);
  pipeline(client, isPipelined);
  try {
    const result = await work(client);
    pipeline(client, false);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    // A statement that was sent behind one that failed fails, too, and may be the first that is heard of.
    throw isAborted(error) ? first : error;
  } finally {
    connection.off("errorMessage", onFailure);
  }
}

/** Whether a statement failed because an earlier one of its transaction had. */
function isAborted(error: unknown): boolean {
  const cause = error instanceof DrizzleQueryError ? error.cause : error;
  return cause instanceof pg.DatabaseError && cause.code === "25P02";
}

/**
 * For a plan that is kept, and so made for any account, as if each were of the usual size: one of a large
 * ledger among small ones may sort it whole for each page (255 ms for 100,000 bills). Where no plan may
 * sort, all follow the index, for 0.5 ms.
 */
const keptPlan = `;
  set local plan_cache_mode = force_generic_plan;
  set local enable_sort = off`;

type AtOnceOptions = Pick<TransactionOptions, "isolation" | "statementMaxMs"> & {
  /** Whether the server keeps the statement's plan on each connection. A pooler may hand those round. Default not. */
  readonly keepsPlan?: boolean;
};

/**
 * Runs one statement in a transaction of its own. All of it leaves in one write, for one round trip.
 * @throws as {@link inTransaction} does.
 */
export async function executeAtOnce<Row extends Record<string, unknown>>(
  db: Database,
  statement: SQL,
  { keepsPlan = false, ...options }: AtOnceOptions,
): Promise<Answered<Row>> {
  const { sql: text, params: values } = dialect.sqlToQuery(statement);
  const name = keepsPlan ? { name: hash("sha256", text, "base64url") } : {};
  return lent(db.$client.connect(), true, async (client) => {
    const { stream } = connectionOf(client);
    stream.cork();
    const answers = [
      client.query(beginText(options) + (keepsPlan ? keptPlan : "")),
      client.query<Assume<Row, pg.QueryResultRow>>({ ...name, text, values }),
      client.query("commit"),
    ] as const;
    stream.uncork();
    const [, answer] = await Promise.all(answers);
    return answer;
  });
}

const dialect = new PgDialect();

/** The one place that says that a connection is in a transaction. */
const transactionOn = (client: pg.PoolClient) => drizzle(client) as Connection as Transaction;

/** While nothing is under way. The driver's types let it be said only when the pool is made. */
const pipeline = (client: pg.PoolClient, isPipelined: boolean): void =>
  void Object.assign(client, { pipeline: isPipelined });

/** What its messages go through. The driver's types have it on a class that they do not show. */
function connectionOf(client: pg.PoolClient): pg.Connection {
  if ("connection" in client && client.connection instanceof pg.Connection)
    return client.connection;
  throw new Error("defect: the driver keeps its connection elsewhere");
}

/**
 * Runs statements outside of a transaction, on a connection that is had before all other work: for
 * what must be in time.
 */
export async function urgently<T>(
  db: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const pool = db.$client;
  const connecting = pool instanceof Connections ? pool.connectFirst() : pool.connect();
  return lent(connecting, true, (client) => work(drizzle(client)));
}
