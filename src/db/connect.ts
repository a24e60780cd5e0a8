import { setTimeout as delay } from "node:timers/promises";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import pg from "pg";
import { minuteMs, secondMs } from "../contract/time.ts";
import { DatabaseError, messageOf } from "../errors.ts";

/** A pool of connections. Its transactions are {@link inTransaction}'s, not Drizzle's. */
export type Database = Omit<NodePgDatabase, "transaction"> & { readonly $client: pg.Pool };
/** Inside a transaction. */
export type Transaction = Omit<NodePgDatabase, "transaction"> & {
  /** For what Drizzle has no word for. */
  readonly $client: { query<Sent extends pg.Submittable>(query: Sent): Sent };
};

/** Each statement and each wait for a connection is bounded. */
export type OpenDatabase = AsyncDisposable & { readonly db: Database };

const connectionsMax = 4;
const connectMaxMs = 10 * secondMs;
const usualStatementMaxMs = 2 * minuteMs;
// A statement that still hangs at the end is not waited for.
const farewellMaxMs = 2 * secondMs;
// A process that stands still in a transaction, or whose machine is gone, holds its locks no
// longer than this; without it the server's TCP keepalive decides, which is two hours.
const transactionIdleMaxMs = 15 * secondMs;

/** How long a statement may take. Default two minutes. */
export type StatementLimit = { readonly statementMaxMs?: number };

/**
 * Opens a pool. Nothing is sent before the first statement.
 * @throws DatabaseError where the URL asks for what there is not, a certificate file for one.
 */
export function openDatabase(
  url: string,
  { statementMaxMs = usualStatementMaxMs }: StatementLimit = {},
): OpenDatabase {
  const config: pg.PoolConfig = {
    connectionString: withVerifiedTls(url),
    max: connectionsMax,
    connectionTimeoutMillis: connectMaxMs,
    // At the client: a pooler in transaction mode refuses a statement_timeout at the start. Later
    // than the server's own limit in a transaction, so that the server can say it first.
    query_timeout: statementMaxMs + connectMaxMs,
    application_name: "bill-sync",
    keepAlive: true,
    // Unless the URL says otherwise; PGSSLNEGOTIATION=direct would rule out sslmode=disable.
    sslnegotiation: "postgres",
  };
  refuseUnusable(config);
  const pool = new pg.Pool(config);
  // Whatever prints a pool, or an error that holds one, would print the password with the URL.
  Object.defineProperty(pool.options, "connectionString", { enumerable: false });
  // A connection that breaks between two statements would end the process: the next statement
  // gets a new connection, or the error.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return {
    db: drizzle(pool),
    async [Symbol.asyncDispose]() {
      await Promise.race([pool.end(), delay(farewellMaxMs, undefined, { ref: false })]);
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
};

/** One message. */
const beginText = ({
  isolation = "read committed",
  statementMaxMs = usualStatementMaxMs,
  idleMaxMs = transactionIdleMaxMs,
}: TransactionOptions) => `
  begin isolation level ${isolation};
  set local statement_timeout = ${statementMaxMs};
  set local idle_in_transaction_session_timeout = ${idleMaxMs}`;

/**
 * Runs work in one transaction. The connection of one that fails is closed, which undoes it on
 * the server: a rollback would wait behind a statement that hangs, and a connection that goes
 * back to the pool in mid-statement would run the next user's statements in the old transaction.
 */
export async function inTransaction<T>(
  db: Database,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const client = await db.$client.connect();
  try {
    const tx = drizzle(client);
    await tx.execute(beginText(options));
    const result = await work(tx);
    const { command } = await tx.execute("commit");
    // What the server answers where a statement had failed and the work went on.
    if (command !== "COMMIT") throw new Error(`defect: the commit ended in ${command}`);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
