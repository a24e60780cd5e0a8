import { escapeIdentifier, Pool } from "pg";
import { migrateAt } from "../support/migrate-at.ts";
import { openTestServer } from "../support/postgres-server.ts";
import { query } from "../support/query.ts";

// The connections of all processes together: one process has 10, and frozen ones keep theirs.
// Simulated time stands still while a process waits for a connection, so nobody could release one.
const connectionsMax = 40;
const connectMaxMs = 30_000;

/** The connections of a worker's simulated processes, without the program's own limit. */
export function openPool(connectionString: string): Pool {
  const limits = { max: connectionsMax, connectionTimeoutMillis: connectMaxMs };
  const pool = new Pool({ connectionString, ...limits });
  // A connection that breaks while it is idle is no fault of a history.
  pool.on("error", () => undefined);
  return pool;
}

/** Migrated databases on the Postgres that the tests use. */
export async function openDatabases() {
  const server = await openTestServer();
  const made: string[] = [];
  return {
    /** The Postgres, described in words. */
    server: `PostgreSQL ${server.version} from ${server.kind}`,
    /** Creates an empty database for a worker; dropped with all others. */
    async create(name: string) {
      const whole = `bill_sync_simulation_${process.pid}_${name}`;
      const url = new URL(server.url);
      url.pathname = `/${whole}`;
      await query(server.url, `create database ${escapeIdentifier(whole)}`);
      made.push(whole);
      await migrateAt(url.href);
      return url.href;
    },
    async [Symbol.asyncDispose]() {
      try {
        for (const name of made)
          await query(server.url, `drop database if exists ${escapeIdentifier(name)} with (force)`);
      } finally {
        await server[Symbol.asyncDispose]();
      }
    },
  };
}
