// A role with one or two connections, and a pooler in transaction mode that has one (support/transaction-pooler.ts
// hands it to transactions as PgBouncer does).

import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/core/postgres/connect.ts";
import { isDirect } from "../src/core/postgres/connections.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { accountsEnvironment } from "./support/accounts-file.ts";
import { runCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { transactionPooler } from "./support/transaction-pooler.ts";

const productType = "USDT-FUTURES";
const maxMs = 5 * 60_000;

/** Leads to the database by a role with so few connections. */
const asRole = (limit: number) => async (at: string) => {
  const admin = openDatabase(at);
  const name = `bill_sync_limited_${randomBytes(6).toString("hex")}`;
  const url = Object.assign(new URL(at), { username: name, password: "few" });
  const database = sql.identifier(url.pathname.slice(1));
  const role = sql.identifier(name);
  await admin.db.execute(
    sql`create role ${role} login password 'few' connection limit ${sql.raw(String(limit))}`,
  );
  await admin.db.execute(sql`grant create, temporary on database ${database} to ${role}`);
  await admin.db.execute(sql`grant create, usage on schema public to ${role}`);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await admin.db.execute(sql`drop owned by ${role}`);
      await admin.db.execute(sql`drop role ${role}`);
      await admin[Symbol.asyncDispose]();
    },
  };
};

type Way = (url: string) => Promise<AsyncDisposable & { readonly url: string }>;
test.concurrent.each<[string, boolean, Way]>([
  ["a role that may have one", false, asRole(1)],
  ["a role that may have two", false, asRole(2)],
  ["a pooler that has one", true, (url) => transactionPooler(url, { serversMax: 1 })],
])(
  "by the connections of %s tables are made, three accounts synced exactly, and doctor content",
  async (_, isPooled, way) => {
    await using folder = await temporaryFolder();
    await using sandbox = await openSandbox({
      ...{ seed: "few connections", accountNames: ["a", "b", "c"], density: 0.1 },
      productTypes: [productType],
    });
    await using database = await testDatabase({ isEmpty: true });
    await using through = await way(database.url);
    const accounts = await accountsEnvironment(folder.path, sandbox, productType);
    const env = { DATABASE_URL: through.url, ...accounts };
    const syncedAt = Date.now();
    expect(await runCli(["sync"], { env, maxMs })).toMatchObject({ code: 0 });
    expect(await runCli(["doctor"], { env, maxMs })).toMatchObject({ code: 0 });
    await using admin = openDatabase(database.url);
    for (const account of sandbox.accounts) {
      const at = { account };
      const comparison = await heldAgainstLedger(admin.db, at, productType, syncedAt, account.name);
      expect(comparison).toMatchObject(exactly);
      expect(comparison.expected).toBeGreaterThan(150);
    }
    await using open = openDatabase(through.url);
    const { db } = open;
    // What a shared session must not keep: settings, locks, an open transaction.
    const { rows } = await db.execute(sql`
      select
        current_setting('statement_timeout') as timeout,
        current_setting('idle_in_transaction_session_timeout') as idle_timeout,
        (
          select count(*)::int
          from pg_locks
          join pg_database on pg_database.oid = pg_locks.database
          where datname = current_database() and locktype = 'advisory'
        ) as locks,
        (
          select count(*)::int
          from pg_stat_activity
          where datname = current_database() and state like 'idle in transaction%'
        ) as open`);
    expect(rows).toEqual([{ timeout: "0", idle_timeout: "0", locks: 0, open: 0 }]);
    if (isPooled) expect(await isDirect(db.$client)).toBe(false);
  },
  maxMs,
);
