// Holds: Atomic pages

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { OpenDatabase } from "../src/core/postgres/connect.ts";
import { readStoredBills } from "../src/core/store/bill-rows.ts";
import { dayMs, epochMs, hourMs } from "../src/lib/time.ts";
import { compareWithLedger } from "../src/wings/sandbox/comparison.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { type CliEnvironment, environmentFor, runCli } from "./support/cli.ts";
import { openTestDatabase, testDatabase } from "./support/database.ts";
import { killAtPoints } from "./support/kill-points.ts";
import { coverUpTo } from "./support/stored-ledger.ts";

const account = "main";
const productType = "USDT-FUTURES";
const maxMs = 60 * 60_000;
// The sync is small: one window of 7 days, and the rest of the days before it.
const historyDays = 9;

test(
  "a sync killed at a statement or request, and run again, ends with exactly the ledger",
  async () => {
    const killed = await killAtPoints({
      list: async (preload) => {
        await using at = await smallSync();
        return await runCli(["sync"], { env: { ...at.env, ...preload } });
      },
      kill: async (preload, point) => {
        await using at = await smallSync();
        const first = await runCli(["sync"], { env: { ...at.env, ...preload } });
        if (first.signal === "SIGKILL") await completeAfterKill(at, point);
        return first;
      },
    });
    expect(killed).toBeGreaterThan(8);
  },
  maxMs,
);

test(
  "a migration killed at a statement, and run again, ends with the whole schema",
  async () => {
    const migrateEmpty = async (preload: CliEnvironment) => {
      await using empty = await testDatabase({ isEmpty: true });
      const env = { DATABASE_URL: empty.url };
      const first = await runCli(["db", "migrate"], { env: { ...env, ...preload } });
      // migrate looks at every column, so its success proves that the schema is whole.
      expect(await runCli(["db", "migrate"], { env })).toMatchObject({ code: 0 });
      return first;
    };
    expect(await killAtPoints({ list: migrateEmpty, kill: migrateEmpty })).toBeGreaterThan(7);
  },
  maxMs,
);

/** A sandbox, and a database in which all but the last days are covered. */
async function smallSync() {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await openTestDatabase());
  const sandbox = stack.use(
    await openSandbox({ seed: 7, density: 1, days: historyDays, productTypes: [productType] }),
  );
  // On a busy machine, a minute passes since the sandbox's ledger was made.
  await coverUpTo(database.db, { account, productType }, Date.now() - historyDays * dayMs - hourMs);
  const env = environmentFor(sandbox, database, { PRODUCT_TYPES: productType });
  const opened = stack.move();
  return { database, sandbox, env, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function completeAfterKill(
  { database, sandbox, env }: Awaited<ReturnType<typeof smallSync>>,
  point: string,
): Promise<void> {
  const name = `killed at ${point}`;
  await expireLease(database);
  const visibleAt = epochMs(Date.now());
  const again = await runCli(["sync"], { env });
  expect(again.code, `${name}: ${again.stdout}${again.stderr}`).toBe(0);
  const stored = await readStoredBills(database.db, { account, productType });
  const ledger = sandbox.account.ledger.bills[productType];
  const comparison = compareWithLedger(ledger, stored, { from: epochMs(0), visibleAt });
  expect(comparison.expected).toBeGreaterThan(200);
  expect(comparison, name).toMatchObject({ missing: [], extra: [], different: [] });
}

/** As if an earlier run had read everything older. */
/** A killed run's lease expires after 15 s. */
async function expireLease({ db }: OpenDatabase): Promise<void> {
  await db.execute(sql`update leases set expires_at = clock_timestamp() - interval '1 s'`);
}
