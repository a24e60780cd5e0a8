import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { Io } from "../src/app/io.ts";
import { runProgram } from "../src/commands/program/program.ts";
import { dayMs, epochMs, isoTime, minuteMs } from "../src/contract/time.ts";
import { type OpenDatabase, openDatabase } from "../src/db/connect.ts";
import { readStoredBills } from "../src/db/ledger/stored-bills.ts";
import { compareWithLedger } from "../src/sandbox/comparison.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { type CliEnvironment, environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";

const account = "main";
const productType = "USDT-FUTURES";
const killer = fileURLToPath(new URL("support/kill-at.ts", import.meta.url));
const lanes = 3;
const pointsMax = 1_000;
const maxMs = 10 * 60_000;
// The sync is small: one window of 7 days and what is left of the days before it.
const historyDays = 9;

/** Kills one run after the other, each at its own point, until one is over before its point. */
async function killAtEachPoint(kill: (killAt: number) => Promise<boolean>): Promise<number> {
  let next = 1;
  let killed = 0;
  const lane = async () => {
    while (next <= pointsMax && (await kill(next++))) killed += 1;
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return killed;
}

const killed = (killAt: number) => ({
  NODE_OPTIONS: `--import ${killer}`,
  KILL_AT: String(killAt),
});

test(
  "a sync killed at any statement or request, and run again, ends with exactly the ledger",
  async () => {
    const points = await killAtEachPoint(async (killAt) => {
      const name = `killed at point ${killAt}`;
      await using given = await testDatabase();
      await using database = openDatabase(given.url);
      await using sandbox = await openSandbox({
        seed: 7,
        density: 1,
        days: historyDays,
        productTypes: [productType],
      });
      const env = environmentFor(sandbox, given, { PRODUCT_TYPES: productType });
      await coverUpTo(database, Date.now() - historyDays * dayMs - minuteMs);
      const first = await runCli(["sync"], { env: { ...env, ...killed(killAt) } });
      if (first.signal !== "SIGKILL") {
        expect(first).toMatchObject({ code: 0 });
        return false;
      }
      await expireLease(database);
      const visibleAt = epochMs(Date.now());
      expect(await runHere(["sync"], env), name).toBe(0);
      const stored = await readStoredBills(database.db, { account, productType });
      const ledger = sandbox.account.ledger.bills[productType];
      const comparison = compareWithLedger(ledger, stored, { from: epochMs(0), visibleAt });
      expect(comparison.expected).toBeGreaterThan(200);
      expect(comparison, name).toMatchObject({ missing: [], extra: [], different: [] });
      return true;
    });
    console.log(`killed at ${points} points`);
    expect(points).toBeGreaterThan(100);
    expect(points).toBeLessThan(pointsMax);
  },
  maxMs,
);

test(
  "a migration killed at any statement, and run again, ends with the whole schema",
  async () => {
    const points = await killAtEachPoint(async (killAt) => {
      await using empty = await testDatabase({ isEmpty: true });
      const env = { DATABASE_URL: empty.url };
      const first = await runCli(["migrate"], { env: { ...env, ...killed(killAt) } });
      // That it ends well says that the schema is whole: migrate looks at every column.
      expect(await runHere(["migrate"], env)).toBe(0);
      return first.signal === "SIGKILL";
    });
    console.log(`killed at ${points} points`);
    expect(points).toBeGreaterThan(20);
    expect(points).toBeLessThan(pointsMax);
  },
  maxMs,
);

/** The program in this process: what runs again need not be killed, and starts faster here. */
function runHere(args: readonly string[], env: CliEnvironment): Promise<number> {
  const sink = () => Object.assign(new PassThrough().resume(), { isTTY: false });
  // Of a terminal's stream, only what a stream has is used where there is no terminal.
  const io = { out: sink(), err: sink(), signal: new AbortController().signal } as unknown as Io;
  return runProgram(args, {
    io,
    isRunByNpm: false,
    readEnvironment: () => ({ ...env, LOG_LEVEL: "silent" }),
  });
}

/** As if an earlier run had read all that is older. */
async function coverUpTo({ db }: OpenDatabase, to: number): Promise<void> {
  const from = isoTime(epochMs(to - 90 * dayMs));
  await db.execute(sql`
    insert into checkpoints (
      account, product_type, window_start, window_end, state, run_id, updated_at
    )
    values (
      ${account}, ${productType}, ${from}, ${isoTime(epochMs(to))}, 'complete',
      gen_random_uuid(), clock_timestamp()
    )`);
}

/** A killed run's lease runs out by itself after 15 s. */
async function expireLease({ db }: OpenDatabase): Promise<void> {
  await db.execute(sql`update account_leases set expires_at = clock_timestamp() - interval '1 s'`);
}
