// Metrics are what the exchange served and what lies in the tables, none of what is unknown, in as many queries
// for many accounts as for one; a ledger that is configured and was never begun fires an alert.

import { type SQL, sql } from "drizzle-orm";
import { Client } from "pg";
import { expect, test } from "vitest";
import { seedFleet } from "../bench/support/fleet.ts";
import { dayMs } from "../src/contract/time.ts";
import type { Queryable } from "../src/db/connect.ts";
import { openDatabase } from "../src/db/connect.ts";
import { readStatus } from "../src/health/ledger-status.ts";
import { usualLimits } from "../src/health/select.ts";
import { readMetrics, registryOf } from "../src/metrics/registry.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { servedBills } from "../src/sandbox/source.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { hasPromtool, promtool, seriesOf } from "./support/promtool.ts";
import { rosterOfAccounts } from "./support/roster.ts";

const productTypes = ["USDT-FUTURES", "COIN-FUTURES"] as const;

/** A sandbox exchange with a loan, a database, and the program with both configured. */
async function house(options: { readonly isEmpty?: boolean } = {}) {
  const stack = new AsyncDisposableStack();
  const sandbox = stack.use(await openSandbox({ seed: "metrics", density: 0.05 }));
  const database = stack.use(await testDatabase(options));
  const { db } = stack.use(openDatabase(database.url));
  const env = environmentFor(sandbox, database, {
    PRODUCT_TYPES: productTypes.join(),
    SYNC_LTV: "true",
  });
  const run = (...args: readonly string[]) => runCli(args, { env });
  return { sandbox, db, env, run, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const near = (seconds: number, withinS: number) =>
  expect.toSatisfy((value: number) => Math.abs(value - seconds) < withinS);

test("metrics shows after a sync what the exchange served, and when", async () => {
  await using at = await house();
  const { sandbox, run } = at;
  const startedS = Date.now() / 1_000;
  expect(await run("sync")).toMatchObject({ code: 0 });
  const endedS = Date.now() / 1_000;
  const end = await run("status", "--format", "prometheus");
  expect(end).toMatchObject({ code: 0, stderr: "" });
  const values = (name: string) => seriesOf(end.stdout, `bill_sync_${name}`);

  const now = startedS * 1_000;
  const bills = productTypes.reduce((sum, type) => {
    const span = { from: now - 90 * dayMs, to: now, now };
    return sum + servedBills(sandbox.account.ledger, type, span).length;
  }, 0);
  expect(bills).toBeGreaterThan(200);
  // While the sync runs, bills are added, and others become too old.
  expect(Math.abs(Number(values("stored_bills")[""]) - bills)).toBeLessThanOrEqual(10);
  expect(values("stored_bills")).toEqual({ "": await countBills(at.db) });
  // Complete up to ten minutes before the sync: the newest time is settling.
  const through = near(startedS - 600, endedS - startedS + 5);
  expect(values("complete_through_timestamp_seconds")).toEqual({ "": through });
  expect(values("accounts")).toEqual({ "": 1 });
  expect(values("ledgers")).toEqual({
    ...{ 'state="active"': 2, 'state="paused"': 0, 'state="retired"': 0, 'state="closed"': 0 },
  });
  const inRun = expect.toSatisfy((time: number) => time >= startedS - 1 && time <= endedS + 1);
  expect(values("last_run_timestamp_seconds")).toEqual({
    // A sync ends with a check of what changed.
    'command="reconcile",outcome="complete"': inRun,
    'command="sync",outcome="complete"': inRun,
  });
  const inTime = expect.toSatisfy((took: number) => took > 0 && took <= endedS - startedS);
  expect(values("last_run_duration_seconds")).toEqual({
    'command="reconcile"': inTime,
    'command="sync"': inTime,
  });
  expect(values("list_read_timestamp_seconds")).toEqual({
    'list="spot"': inRun,
    'list="USDT-FUTURES"': inRun,
    'list="COIN-FUTURES"': inRun,
  });
  const record = await loanRecord(at.db);
  expect(values("ltv_ratio")).toEqual({ 'account="main",risk_unit_id=""': Number(record) });
  const notNone = Object.entries(values("findings")).filter(([, count]) => count > 0);
  expect(notNone).toEqual([
    // The sandbox serves two types that nobody has heard of, in each ledger.
    ['kind="unclassified",severity="warning"', 4],
  ]);
  await expectFit(end.stdout);
});

async function countBills(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.execute<{ bills: number }>(
    sql`select count(*)::int as bills from bills`,
  );
  return rows[0]?.bills;
}

/** The rate that the exchange served, in the text that was stored. */
async function loanRecord(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.execute<{ ltv: string }>(sql`
    select round(unpaid_usdt_amount / usdt_balance, 4)::text as ltv from ltv_snapshots`);
  return rows[0]?.ltv;
}

/** Prometheus's own tool finds nothing wrong with the text. */
async function expectFit(text: string): Promise<void> {
  if (!hasPromtool)
    return console.log("promtool is not installed: the metrics were not checked by it");
  expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, output: "" });
}

test("before the first migration, nothing but the version is known, and status --check fails", async () => {
  await using at = await house({ isEmpty: true });
  const { stdout, code } = await at.run("status", "--format", "prometheus");
  expect(code).toBe(0);
  expect(stdout.split("\n").filter((line) => !line.startsWith("#"))).toEqual([
    expect.stringMatching(/^bill_sync_build_info\{version="[\d.]+"\} 1$/),
    "",
  ]);
  const status = await at.run("status", "--check");
  expect(status).toMatchObject({ code: 1 });
  expect(status.stdout).toMatch(
    /^Nothing was ever read\n[\s\S]*\nnothing is stored yet in \S+\/\w+; /,
  );
});

test("of very many ledgers all findings are counted, as the ledgers' states are", async () => {
  await using database = await testDatabase();
  await using open = openDatabase(database.url);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  // Of 120 accounts, two are hours behind and one is weeks behind, one has rejected rows and one has
  // breaks.
  await seedFleet({ client }, 120);
  await client.end();
  const text = await registryOf(
    await readMetrics(open.db, {
      readRoster: rosterOfAccounts([
        { name: "never-read", productTypes: ["USDT-FUTURES", "COIN-FUTURES"] },
        { name: "fund-0000003", productTypes: ["USDT-FUTURES"] },
      ]),
      limits: usualLimits,
    }),
  ).metrics();
  expect(seriesOf(text, "bill_sync_ledgers")).toMatchObject({ 'state="active"': 420 });
  const found = Object.entries(seriesOf(text, "bill_sync_findings")).filter(
    ([, count]) => count > 0,
  );
  // Accounts 3, 103 and 7 have four, two and two ledgers. Account 11 has six, account 12 one. Demo products are
  // notices.
  expect(Object.fromEntries(found)).toEqual({
    'kind="behind",severity="warning"': 4 + 2 + 2 - 1,
    'kind="behind",severity="notice"': 1,
    'kind="unread",severity="warning"': 3,
    'kind="unread",severity="notice"': 1,
    'kind="expiring",severity="critical"': 2,
    'kind="rejected",severity="warning"': 3,
    'kind="rejected",severity="notice"': 3,
    'kind="broken",severity="critical"': 1,
    'kind="never-read",severity="warning"': 2,
    'kind="unchecked",severity="notice"': 420,
    'kind="never-synced",severity="critical"': 1,
  });
  await expectFit(text);
});

test("as many queries as for one ledger read two hundred", async () => {
  await using at = await house();
  let queries = 0;
  const counted = {
    execute(query: SQL) {
      queries += 1;
      return at.db.execute(query);
    },
  } as Queryable;
  const ledgersOf = (count: number) =>
    Array.from({ length: count }, (_, place) => ({
      account: `desk-${place}`,
      productType: "USDT-FUTURES" as const,
    }));
  await readStatus(counted, ledgersOf(1));
  const ofOne = queries;
  queries = 0;
  const { ledgers } = await readStatus(counted, ledgersOf(200));
  expect(ledgers).toHaveLength(200);
  expect(queries).toBe(ofOne);
  expect(queries).toBeLessThan(20);
});
