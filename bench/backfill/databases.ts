import { Client } from "pg";
import { migrateAt } from "../../test/support/migrate-at.ts";
import { openTestServer } from "../../test/support/postgres-server.ts";

export type Databases = AsyncDisposable & {
  readonly version: string;
  /**
   * Creates a database with the program's tables.
   * @returns its address.
   */
  fresh(): Promise<string>;
};

/** A real Postgres, found as the tests find one: TEST_DATABASE_URL, Docker, or the embedded one. */
export async function openDatabases(): Promise<Databases> {
  const server = await openTestServer();
  const names: string[] = [];
  const execute = (statement: string) => query(server.url, statement);
  return {
    version: `PostgreSQL ${server.version} (${server.kind})`,
    async fresh() {
      const name = `bill_sync_bench_${process.pid}_${names.length}`;
      names.push(name);
      await execute(`create database ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      await migrateAt(url.href);
      return url.href;
    },
    async [Symbol.asyncDispose]() {
      for (const name of names) await execute(`drop database if exists ${name} with (force)`);
      await server[Symbol.asyncDispose]();
    },
  };
}

export async function query(url: string, statement: string): Promise<readonly unknown[][]> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return (await client.query({ text: statement, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}
