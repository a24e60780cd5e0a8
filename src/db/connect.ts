import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import pg from "pg";
import { minuteMs, secondMs } from "../contract/time.ts";

export type Database = NodePgDatabase;
/** Inside a transaction. */
export type Transaction = Parameters<Parameters<Database["transaction"]>[0]>[0];

/** A pool of connections; each statement and each wait for a connection is bounded. */
export type OpenDatabase = AsyncDisposable & { readonly db: Database };

const connectionsMax = 4;
const connectMaxMs = 10 * secondMs;
const statementMaxMs = 2 * minuteMs;

/** Opens a pool. Nothing is sent before the first statement. */
export function openDatabase(url: string): OpenDatabase {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectMaxMs,
    // At the client: a pooler in transaction mode refuses a statement_timeout at the start.
    query_timeout: statementMaxMs,
    application_name: "bill-sync",
    keepAlive: true,
  });
  // A connection that breaks while it is idle: the next statement gets a new one, or the error.
  pool.on("error", () => undefined);
  return { db: drizzle(pool), [Symbol.asyncDispose]: () => pool.end() };
}
