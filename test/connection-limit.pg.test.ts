import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { Connections, connectionsMax, spareConnections } from "../src/db/connections.ts";
import { withDatabaseErrors } from "../src/db/database-errors.ts";
import { DatabaseSilentError, messageOf } from "../src/errors.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { accountsEnvironment } from "./support/accounts-file.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { proxyTo } from "./support/tcp-proxy.ts";

const productType = "USDT-FUTURES";
const maxMs = 5 * 60_000;

describe.concurrent("a role that may have few connections", { timeout: maxMs }, () => {
  test.each([1, 2, 3])(
    "of %i migrates, syncs three accounts and is enough for doctor",
    async (limit) => {
      await using folder = await temporaryFolder();
      await using sandbox = await openSandbox({
        seed: "few connections",
        accountNames: ["a", "b", "c"],
        productTypes: [productType],
        density: 0.1,
      });
      await using database = await testDatabase({ isEmpty: true });
      await using admin = openDatabase(database.url);
      await using role = await limitedRole(admin.db, database.url, limit);
      const env = {
        DATABASE_URL: role.url,
        ...(await accountsEnvironment(folder.path, sandbox, productType)),
      };
      const syncedAt = Date.now();
      expect(await runCli(["sync"], { env, maxMs })).toMatchObject({ code: 0 });
      for (const account of sandbox.accounts) {
        const comparison = await heldAgainstLedger(
          admin.db,
          { account },
          productType,
          syncedAt,
          account.name,
        );
        expect(comparison).toMatchObject(exactly);
        expect(comparison.expected).toBeGreaterThan(150);
      }
      const doctor = await runCli(["doctor"], { env, maxMs });
      expect(doctor).toMatchObject({ code: 0 });
    },
  );
});

test("in the place of connections that are stuck others are lent, and not without end", async () => {
  await using database = await testDatabase();
  await using stack = new AsyncDisposableStack();
  const pool = new Connections({ connectionString: database.url }, { stuckAfterMs: 20 });
  stack.defer(() => pool.end());
  const usual = connectionsMax - 1;
  const takeAll = (count: number) =>
    Promise.all(Array.from({ length: count }, () => pool.connect()));
  // One connection is kept for urgent work. If the others were not replaced, nobody would get the next one.
  const [first, ...stuck] = [...(await takeAll(usual)), ...(await takeAll(spareConnections))];
  const last = pool.connect();
  expect(pool.totalCount).toBe(usual + spareConnections);
  first?.release();
  for (const client of [...stuck, await last]) client.release();
  await setImmediate();
  // There are as few connections as before once none is stuck.
  expect(pool.options.max).toBe(connectionsMax);
});

test("a database that stops answering is called silent, by its statements and by those that wait for a connection", async () => {
  await using database = await testDatabase();
  await using proxy = await proxyTo(database.url);
  await using stack = new AsyncDisposableStack();
  const pool = new Connections(
    { connectionString: proxy.url, query_timeout: maxMs },
    { stuckAfterMs: 100, connectMaxMs: 500 },
  );
  pool.on("error", () => undefined);
  stack.defer(() => pool.end());
  const askAll = () =>
    Promise.allSettled(
      Array.from({ length: 2 * connectionsMax }, () =>
        withDatabaseErrors(() => pool.query("select 1")),
      ),
    );
  for (const outcome of await askAll()) expect(outcome.status).toBe("fulfilled");
  proxy.freeze();
  for (const outcome of await askAll()) {
    const reason: unknown = outcome.status === "rejected" ? outcome.reason : undefined;
    expect(reason).toBeInstanceOf(DatabaseSilentError);
    expect(messageOf(reason)).toContain("the server does not answer; check the network");
  }
});

test("a statement that takes long on a database that answers is waited for", async () => {
  await using database = await testDatabase();
  await using stack = new AsyncDisposableStack();
  const pool = new Connections(
    { connectionString: database.url },
    { stuckAfterMs: 50, connectMaxMs: 2_000 },
  );
  stack.defer(() => pool.end());
  const { rows } = await pool.query("select pg_sleep(0.5)::text as slept");
  expect(rows).toEqual([{ slept: "" }]);
});

async function limitedRole(db: ReturnType<typeof openDatabase>["db"], at: string, limit: number) {
  const name = `bill_sync_limited_${randomBytes(6).toString("hex")}`;
  const url = new URL(at);
  const database = sql.identifier(url.pathname.slice(1));
  const role = sql.identifier(name);
  await db.execute(
    sql`create role ${role} login password 'few' connection limit ${sql.raw(String(limit))}`,
  );
  await db.execute(sql`grant create, temporary on database ${database} to ${role}`);
  await db.execute(sql`grant create, usage on schema public to ${role}`);
  url.username = name;
  url.password = "few";
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await db.execute(sql`drop owned by ${role}`);
      await db.execute(sql`drop role ${role}`);
    },
  };
}
