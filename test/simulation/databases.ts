import { Client, escapeIdentifier } from "pg";
import { migrate } from "../../src/db/migrate.ts";
import { openTestServer } from "../support/postgres-server.ts";

export type Databases = AsyncDisposable & {
  /** The Postgres, in words. */
  readonly server: string;
  /** An empty database for a worker; gone with the others. */
  create(name: string): Promise<string>;
};

/** Migrated databases on the Postgres that the tests use. */
export async function openDatabases(): Promise<Databases> {
  const server = await openTestServer();
  const made: string[] = [];
  const at = async (statement: string): Promise<void> => {
    const client = new Client({ connectionString: server.url });
    try {
      await client.connect();
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  return {
    server: `PostgreSQL ${server.version} from ${server.kind}`,
    async create(name) {
      const whole = `bill_sync_simulation_${process.pid}_${name}`;
      const url = new URL(server.url);
      url.pathname = `/${whole}`;
      await at(`create database ${escapeIdentifier(whole)}`);
      made.push(whole);
      await migrate(url.href);
      return url.href;
    },
    async [Symbol.asyncDispose]() {
      try {
        for (const name of made) {
          await at(`drop database if exists ${escapeIdentifier(name)} with (force)`);
        }
      } finally {
        await server[Symbol.asyncDispose]();
      }
    },
  };
}
