import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, DatabaseError, escapeIdentifier } from "pg";
import { afterAll, inject } from "vitest";
import { openDatabase } from "../../src/core/postgres/connect.ts";
import { connectionOf } from "../../src/core/postgres/connections.ts";

export type TestDatabase = { readonly url: string; [Symbol.asyncDispose](): Promise<void> };

const clonesTriedMax = 100;
const retryMs = 100;
const objectInUse = "55006";

/** A database for the caller, migrated or empty, dropped with its scope. */
export async function testDatabase({ isEmpty = false } = {}): Promise<TestDatabase> {
  const name = `bill_sync_test_${process.pid}_${randomBytes(6).toString("hex")}`;
  const template = isEmpty ? "template0" : inject("templateName");
  const server = await connectToServer();
  await clone(server, name, template);
  const url = new URL(inject("databaseUrl"));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await server.query(`drop database if exists ${escapeIdentifier(name)} with (force)`);
    },
  };
}

/** A database as {@link testDatabase} makes it, with a pool that is closed before it. */
export async function openTestDatabase(options?: { readonly isEmpty?: boolean }) {
  const database = await testDatabase(options);
  const tables = openDatabase(database.url);
  return {
    ...{ url: database.url, db: tables.db },
    async [Symbol.asyncDispose]() {
      await tables[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** A migrated database and a pool for all tests of a file, dropped after them. */
export async function fileDatabase() {
  const database = await openTestDatabase();
  afterAll(() => database[Symbol.asyncDispose]());
  return database;
}

async function clone(client: Client, name: string, template: string): Promise<void> {
  const statement = `create database ${escapeIdentifier(name)} template ${escapeIdentifier(template)} ${inject("cloneStrategy")}`;
  for (let tried = 1; ; tried++) {
    try {
      await client.query(statement);
      return;
    } catch (error) {
      const isInUse = error instanceof DatabaseError && error.code === objectInUse;
      if (!isInUse || tried === clonesTriedMax) throw error;
      await sleep(retryMs);
    }
  }
}

// One a worker, for all of its files: to connect takes the server 40 ms of CPU, and to clone 20.
let connecting: Promise<Client> | undefined;

function connectToServer(): Promise<Client> {
  connecting ??= (async () => {
    const client = new Client({ connectionString: inject("databaseUrl") });
    await client.connect();
    const { stream } = connectionOf(client);
    // It keeps no worker from ending.
    if (stream instanceof Socket) stream.unref();
    return client;
  })();
  return connecting;
}
