// A pooler in transaction mode, even with one connection (support/transaction-pooler.ts hands its connections
// to transactions as PgBouncer does).

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { isDirect } from "../src/db/connections.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { withLatency } from "./faults/network.ts";
import { environmentFor, runCli, startCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";
import { transactionPooler } from "./support/transaction-pooler.ts";

const productType = "USDT-FUTURES";
// Some 10 s where nothing else is at work.
const maxMs = 10 * 60_000;

/** An empty database behind a pooler with a few connections, and the program configured for it. */
async function house(serversMax: number) {
  const stack = new AsyncDisposableStack();
  const way = { delayMs: 0 };
  const sandbox = stack.use(
    await openSandbox({
      seed: "pooled",
      density: 0.2,
      wrapAnswer: (answer) => withLatency(answer, { there: () => way.delayMs, back: () => 0 }),
    }),
  );
  const database = stack.use(await testDatabase({ isEmpty: true }));
  const pooler = stack.use(await transactionPooler(database.url, { serversMax }));
  const { db } = stack.use(openDatabase(pooler.url));
  const env = environmentFor(sandbox, pooler, {
    PRODUCT_TYPES: productType,
    SYNC_LTV: "true",
    LOG_LEVEL: "debug",
  });
  return {
    way,
    db,
    turns: pooler.turns,
    run: (...args: readonly string[]) => runCli(args, { env, maxMs }),
    start: () => startCli(["sync"], { env, maxMs }),
    async expectExact(syncedAt: number) {
      const comparison = await heldAgainstLedger(db, sandbox, productType, syncedAt);
      expect(comparison).toMatchObject(exactly);
      expect(comparison.expected).toBeGreaterThan(300);
    },
    /** What a shared session must not keep: settings, locks, an open transaction. */
    async expectNothingLeft() {
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
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe.concurrent("behind a pooler in transaction mode", { timeout: maxMs }, () => {
  test("that has one connection, a migration and a sync end with exactly the ledger", async () => {
    await using at = await house(1);
    const syncedAt = Date.now();
    expect(await at.run("sync")).toMatchObject({ code: 0 });
    await at.expectExact(syncedAt);
    await at.expectNothingLeft();
    expect(at.turns).toHaveLength(1);
    expect(await isDirect(at.db.$client)).toBe(false);
  });

  test("two migrations at once are both well, and of two syncs at once one ends with code 3", async () => {
    await using at = await house(2);
    const migrations = await Promise.all([at.run("db", "migrate"), at.run("db", "migrate")]);
    expect(migrations.map(({ code }) => code)).toEqual([0, 0]);
    const syncedAt = Date.now();
    await using holder = await at.start();
    await holder.seen("stderr", /"msg":"page stored"/);
    // Longer than the second process needs to see the lease renewed.
    at.way.delayMs = 3_000;
    const second = await at.run("sync", "--only", "bills");
    expect(second).toMatchObject({ code: 3 });
    expect(second.stdout).toMatch(/^main: another run holds account main /);
    at.way.delayMs = 0;
    expect(await holder.ended).toMatchObject({ code: 0 });
    await at.expectExact(syncedAt);
    await at.expectNothingLeft();
    expect(Math.min(...at.turns)).toBeGreaterThan(5);
  });
});
