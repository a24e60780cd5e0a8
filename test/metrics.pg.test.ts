import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type SQL, sql } from "drizzle-orm";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { seedFleet } from "../bench/support/fleet.ts";
import { dayMs, minuteMs } from "../src/contract/time.ts";
import type { Queryable } from "../src/db/connect.ts";
import { openDatabase } from "../src/db/connect.ts";
import { readMetrics } from "../src/metrics/read-metrics.ts";
import { registryOf } from "../src/metrics/registry.ts";
import { readObservations } from "../src/reports/observations.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import { servedBills } from "../src/sandbox/source.ts";
import { environmentFor, runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import {
  hasPromtool,
  judgeRules,
  promtool,
  type RuleCase,
  samplesOf,
  seriesOf,
} from "./support/promtool.ts";
import { storeOpen, storeTime } from "./support/stored-time.ts";

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

const ofLedger = (productType: string, rest = "") =>
  `account="main",product_type="${productType}"${rest}`;
/** The same number for both ledgers. */
const both = (value: unknown) =>
  Object.fromEntries(productTypes.map((productType) => [ofLedger(productType), value]));
const near = (seconds: number, withinS: number) =>
  expect.toSatisfy((value: number) => Math.abs(value - seconds) < withinS);

test("metrics shows after a sync what the exchange served, when, and with how many requests", async () => {
  await using at = await house();
  const { sandbox, run } = at;
  const startedS = Date.now() / 1_000;
  expect(await run("sync")).toMatchObject({ code: 0 });
  const endedS = Date.now() / 1_000;
  const arrived = Object.entries(sandbox.statistics().arrivals);
  const end = await run("status", "--format", "prometheus");
  expect(end).toMatchObject({ code: 0, stderr: "" });
  const values = (name: string) => seriesOf(end.stdout, `bill_sync_${name}`);

  const now = startedS * 1_000;
  for (const type of productTypes) {
    const bills = servedBills(sandbox.account.ledger, type, {
      from: now - 90 * dayMs,
      to: now,
      now,
    });
    const stored = values("bills")[ofLedger(type)];
    // While the sync runs, bills are added, and others become too old.
    expect(Math.abs(Number(stored) - bills.length)).toBeLessThanOrEqual(5);
    expect(bills.length).toBeGreaterThan(100);
  }
  expect(values("bills")).toEqual(await rowsOf(at.db));
  // Complete up to ten minutes before the sync: the newest time is settling. It expires 90 days later.
  const through = near(startedS - 600, endedS - startedS + 5);
  expect(values("complete_through_timestamp_seconds")).toEqual(both(through));
  const expires = near(startedS - 600 + 90 * 86_400, endedS - startedS + 5);
  expect(values("coverage_expires_timestamp_seconds")).toEqual(both(expires));
  for (const none of ["gap_seconds", "lost_seconds", "rejected_bills"])
    expect(values(none)).toEqual(both(0));
  expect(values("coverage_ratio")).toEqual(both(1));
  const info = both(1);
  expect(values("ledger_info")).toEqual(
    Object.fromEntries(Object.keys(info).map((labels) => [`${labels},state="read"`, 1])),
  );
  const inRun = expect.toSatisfy((time: number) => time >= startedS - 1 && time <= endedS + 1);
  expect(values("last_success_timestamp_seconds")).toEqual(both(inRun));
  expect(values("last_run_timestamp_seconds")).toEqual({
    'command="sync",outcome="complete"': inRun,
  });
  expect(values("last_run_duration_seconds")).toEqual({
    'command="sync"': expect.toSatisfy((took: number) => took > 0 && took <= endedS - startedS),
  });
  const counted = arrived.filter(([name]) => name !== "loan-to-value");
  const requests = counted.reduce((sum, [, count]) => sum + count, 0);
  expect(values("last_run_requests")).toEqual({ 'command="sync"': requests });
  expect(values("symbols_read_timestamp_seconds")).toEqual({ "": inRun });
  expect(values("contracts_read_timestamp_seconds")).toEqual({
    'product_type="USDT-FUTURES"': inRun,
    'product_type="COIN-FUTURES"': inRun,
  });
  const record = await loanRecord(at.db);
  expect(values("ltv_ratio")).toEqual({ 'account="main",risk_unit_id=""': Number(record) });
  // Nothing was reconciled yet, so the metric is absent. 0 breaks would say that it was.
  expect(end.stdout).not.toContain("ledger_breaks");
  await expectFit(end.stdout);
});

/** The number of rows of each ledger. */
async function rowsOf(db: Queryable) {
  const { rows } = await db.execute<{ product_type: string; rows: number }>(sql`
    select product_type, count(*)::int as rows from bills group by product_type`);
  return Object.fromEntries(rows.map((row) => [ofLedger(row.product_type), row.rows]));
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

describe("of what is stored by hand", () => {
  test("gaps, lost time, rejected rows and breaks are counted as they lie there", async () => {
    await using at = await house();
    const { db, run } = at;
    const storedAt = Date.now();
    const isoAgo = (ms: number) => new Date(storedAt - ms).toISOString();
    // Lost for 2 days, read for 57, not read for 3, read for 20, and 10 since.
    const ledger = { account: "main", productType: "USDT-FUTURES" } as const;
    const span = (from: number, to: number) => ({
      from: isoAgo(from * dayMs),
      to: isoAgo(to * dayMs),
    });
    await storeTime(db, ledger, { lost: [span(95, 93)], covered: [span(93, 36), span(33, 10)] });
    await storeOpen(db, ledger, span(36, 33));
    await db.execute(sql`
      update streams
      set
        lost_at = ${isoAgo(2 * dayMs)},
        read_at = ${isoAgo(minuteMs)},
        planned_at = ${isoAgo(minuteMs)},
        planned_clock = ${isoAgo(minuteMs)}`);
    for (const [digest, resolved] of [
      ["a", null],
      ["b", null],
      ["c", "2026-01-01Z"],
    ] as const)
      await db.execute(sql`
        insert into rejected_bills (
          account, product_type, digest, received, fault_path, fault, run_id, rejected_at, resolved_at
        )
        values ('main', 'USDT-FUTURES', ${digest}, '{}', '', '', gen_random_uuid(), now(), ${resolved})`);
    const breaks = [
      [1, "USDT", "open"],
      [2, "USDT", "open"],
      [3, "USDT", "explained"],
      [4, "BGB", "resolved"],
      [5, "", "open"],
    ] as const;
    for (const [id, coin, state] of breaks)
      await db.execute(sql`
        insert into ledger_breaks (
          account, break_id, kind, product_type, coin, anchor, explanation, first_seen_at,
          last_seen_at, state
        )
        values (
          'main', ${id}, 'chain', ${coin === "" ? "" : "USDT-FUTURES"}, ${coin}, ${String(id)}, '',
          now(), now(), ${state}
        )`);
    await db.execute(sql`
      insert into reconciled_chains (
        account, product_type, coin, ingested_before, tested, rounded
      )
      values ('main', 'COIN-FUTURES', 'BTC', now(), 5, 0)`);
    const { stdout } = await run("status", "--format", "prometheus");
    const values = (name: string) => seriesOf(stdout, `bill_sync_${name}`);
    const own = ofLedger("USDT-FUTURES");
    const days = (count: number) => near(count * 86_400, 1);
    expect(values("lost_seconds")[own]).toEqual(days(2));
    expect(values("gap_seconds")[own]).toEqual(days(3));
    const agoSeconds = (ms: number) => near((storedAt - ms) / 1_000, 1);
    expect(values("last_loss_timestamp_seconds")[own]).toEqual(agoSeconds(2 * dayMs));
    expect(values("last_success_timestamp_seconds")[own]).toEqual(agoSeconds(minuteMs));
    expect(values("rejected_bills")[own]).toBe(2);
    expect(values("complete_through_timestamp_seconds")).toEqual({
      [own]: near(Date.now() / 1_000 - 36 * 86_400, 60),
    });
    expect(values("coverage_expires_timestamp_seconds")).toEqual({
      [own]: near(Date.now() / 1_000 + (90 - 36) * 86_400, 60),
    });
    const states = (productType: string, coin: string, counts: readonly number[]) =>
      Object.fromEntries(
        ["open", "signed off", "resolved"].map((state, place) => [
          ofLedger(productType, `,coin="${coin}",state="${state}"`),
          counts[place],
        ]),
      );
    expect(values("ledger_breaks")).toEqual({
      ...states("USDT-FUTURES", "USDT", [2, 1, 0]),
      ...states("USDT-FUTURES", "BGB", [0, 0, 1]),
      ...states("COIN-FUTURES", "BTC", [0, 0, 0]),
      ...states("", "", [1, 0, 0]),
    });
    await expectFit(stdout);

    const status = await run("status", "--check");
    expect(status.code).toBe(1);
    expect(status.stdout).toMatch(/\nmain\/USDT-FUTURES\/USDT: 2 open breaks; npm run reconcile/);
    const named = [...status.stdout.matchAll(/^ALERT (\w+): (\S+)/gm)].map(([, ...parts]) => parts);
    expect(named).toEqual([
      ["BillSyncAbsent", "no"],
      // Neither ledger was read lately, and the second one never was.
      ["BillSyncStale", "main/USDT-FUTURES"],
      ["BillSyncStale", "main/COIN-FUTURES"],
      ["BillSyncRejected", "main/USDT-FUTURES"],
      ["BillSyncBreak", "main"],
      ["BillSyncBreak", "main/USDT-FUTURES/USDT"],
    ]);
    const json = JSON.parse((await run("status", "--check", "--json")).stdout);
    expect(json.alerts.map(({ name }: { name: string }) => name)).toEqual(
      named.map(([name]) => name),
    );
    expect(json.breaks).toContainEqual({
      account: "main",
      productType: "USDT-FUTURES",
      coin: "USDT",
      state: "open",
      breaks: 2,
    });
    // Of another product type there are no breaks.
    const narrow = await run("status", "--check", "--product", "COIN-FUTURES");
    expect(narrow.stdout).not.toMatch(/BillSyncBreak|BillSyncRejected/);
  });
});

test("an account that is configured and was never begun is stale for all who watch; a name's default is not", async () => {
  await using database = await testDatabase();
  await using folder = await temporaryFolder();
  const options = { cwd: folder.path };
  const named = { DATABASE_URL: database.url, PRODUCT_TYPES: productTypes.join() };
  const env = { ...named, EXCHANGE_ACCOUNT: "new" };
  const newLedger = (type: string) => `account="new",product_type="${type}",state="read"`;
  const infoOf = (text: string) => Object.keys(seriesOf(text, "bill_sync_ledger_info"));
  const ran = await runCli(["status", "--format", "prometheus"], { ...options, env });
  await using serving = await startCli(["serve", "--port", "0"], { ...options, env });
  const [url] = await serving.seen("stdout", /^http:\/\/127\.0\.0\.1:\d+/);
  const served = await (await fetch(`${url}/metrics`)).text();
  for (const text of [ran.stdout, served]) {
    expect(infoOf(text)).toEqual(productTypes.map(newLedger));
    expect(text).not.toContain("complete_through");
    await expectFiring(text, [
      ["BillSyncAbsent", { command: "sync" }],
      ...productTypes.map(
        (type) => ["BillSyncStale", { account: "new", product_type: type, state: "read" }] as const,
      ),
    ]);
  }
  const checked = await runCli(["status", "--check"], { ...options, env });
  expect(checked.code).toBe(1);
  expect(checked.stdout.match(/^ALERT .*/gm)).toEqual([
    "ALERT BillSyncAbsent: no sync has run yet; run sync",
    ...productTypes.map((type) => `ALERT BillSyncStale: new/${type} was never read completely`),
  ]);
  const unnamed = await runCli(["status", "--format", "prometheus"], { ...options, env: named });
  expect(infoOf(unnamed.stdout)).toEqual([]);
});

/** By Prometheus's own engine, these alerts fire for the text, and no others. */
async function expectFiring(text: string, firing: RuleCase["firing"]): Promise<void> {
  if (!hasPromtool) return console.log("promtool is not installed: the rules were not judged");
  const rules = ["BillSyncAbsent", "BillSyncStale"];
  expect(await judgeRules([{ name: "never begun", text, firing }], 3_600, rules)).toBe(
    "as expected",
  );
}

test("status --check is silent after a sync, and names what is too old for a shorter --max-age", async () => {
  await using at = await house();
  await at.run("sync");
  const well = await at.run("status", "--check");
  expect(well).toMatchObject({ code: 0, stderr: "" });
  expect(well.stdout).toMatch(/\nno alert\n$/);
  const strict = await at.run("status", "--check", "--max-age", "5m", "--max-ltv", "0.000001");
  expect(strict.code).toBe(1);
  expect([...strict.stdout.matchAll(/^ALERT (\w+)/gm)].map(([, name]) => name)).toEqual([
    "BillSyncStale",
    "BillSyncStale",
    "BillSyncLoanToValue",
  ]);
  // Without --check, the same state is no failure.
  expect((await at.run("status")).code).toBe(0);
  const wrong = await at.run("status", "--check", "--max-age", "soon");
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
});

test("before the first migration, nothing but the version is known, and status --check fails", async () => {
  await using at = await house({ isEmpty: true });
  const { stdout, code } = await at.run("status", "--format", "prometheus", "--output", "-");
  expect(code).toBe(0);
  expect(stdout.split("\n").filter((line) => !line.startsWith("#"))).toEqual([
    expect.stringMatching(/^bill_sync_build_info\{version="[\d.]+"\} 1$/),
    "",
  ]);
  const status = await at.run("status", "--check");
  expect(status).toMatchObject({ code: 1 });
  expect(status.stdout).toBe(
    "nothing is stored yet; run sync\nALERT BillSyncAbsent: no sync has run yet; run sync\n",
  );
});

test("--output replaces the file whole, for every user, or leaves it as it was", async () => {
  await using at = await house();
  await using folder = await temporaryFolder();
  const place = folder.path;
  const path = join(place, "bill_sync.prom");
  await writeFile(path, "before");
  await chmod(path, 0o600);
  const failed = await runCli(["status", "--format", "prometheus", "--output", path], {
    env: { ...at.env, DATABASE_URL: "postgresql://nobody@127.0.0.1:1/none" },
  });
  expect(failed.code).toBe(1);
  expect(await readFile(path, "utf8")).toBe("before");
  expect(await at.run("status", "--format", "prometheus", "--output", path)).toMatchObject({
    code: 0,
    stdout: "",
  });
  expect(await readFile(path, "utf8")).toBe(
    (await at.run("status", "--format", "prometheus")).stdout,
  );
  expect((await stat(path)).mode & 0o777).toBe(0o644);
  expect(await readdir(place)).toEqual(["bill_sync.prom"]);
  await mkdir(join(place, "folder"));
  const wrong = await at.run("status", "--format", "prometheus", "--output", join(place, "folder"));
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/is not a file/) });
});

test("of very many ledgers the worst have series of their own, and all are counted", async () => {
  await using database = await testDatabase();
  await using open = openDatabase(database.url);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  // Of 120 accounts, two are hours behind and one is weeks behind, one has rejected rows and one has
  // breaks.
  await seedFleet({ client }, 120);
  await client.end();
  const question = {
    configured: () => ["never-read", "fund-0000003"].map((account) => ({ account, productType })),
    settleLagMs: 10 * minuteMs,
  };
  const productType = "USDT-FUTURES" as const;
  const readWith = async (all: number) => {
    const { observations, counts } = await readMetrics(open.db, question, { all, worst: 20 });
    return registryOf(observations, { ...counts, unreachable: [] }).metrics();
  };
  const whole = await readWith(5_000);
  const worst = await readWith(100);
  const ledgersOf = (text: string) => Object.keys(seriesOf(text, "bill_sync_ledger_info"));
  expect([ledgersOf(whole).length, ledgersOf(worst).length]).toEqual([421, 21]);
  const counted = (text: string) =>
    samplesOf(text).filter(({ series }) =>
      /^bill_sync_(accounts|ledgers|ledgers_alerting|stored_bills)(\{|$)/.test(series),
    );
  expect(counted(worst)).toEqual(counted(whole));
  expect(seriesOf(worst, "bill_sync_ledgers")).toMatchObject({ 'state="read"': 420 });
  expect(seriesOf(worst, "bill_sync_ledgers_listed")).toEqual({ "": 21 });
  // Accounts 3, 103 and 7 have four, two and two ledgers. Account 11 has six, account 12 one.
  expect(seriesOf(worst, "bill_sync_ledgers_alerting")).toEqual({
    'alert="BillSyncStale"': 4 + 2 + 2 + 1,
    'alert="BillSyncExpires"': 2,
    'alert="BillSyncLost"': 0,
    'alert="BillSyncRejected"': 6,
    'alert="BillSyncBreak"': 1,
  });
  // The worst ledgers have the same values as in the full list, and none with an alert is left out.
  const own = (text: string) =>
    samplesOf(text).filter(({ series }) => !series.startsWith("bill_sync_ledgers_listed"));
  const among = new Map(own(whole).map(({ series, value }) => [series, value]));
  expect(own(worst).filter(({ series, value }) => among.get(series) !== value)).toEqual([]);
  const alerting = (text: string) => [
    ...Object.entries(seriesOf(text, "bill_sync_rejected_bills")),
    ...Object.entries(seriesOf(text, "bill_sync_ledger_breaks")),
    ...Object.entries(seriesOf(text, "bill_sync_complete_through_timestamp_seconds")).filter(
      ([, seconds]) => seconds < Date.now() / 1_000 - 3 * 3_600,
    ),
  ];
  const firing = (text: string) => new Map(alerting(text).filter(([, value]) => value > 0));
  expect(firing(worst)).toEqual(firing(whole));
  expect(firing(worst).size).toBe(4 + 2 + 2 + 6 + 1);
  await expectFit(worst);
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
  const streamsOf = (count: number) =>
    Array.from({ length: count }, (_, place) => ({
      account: `desk-${place}`,
      productType: "USDT-FUTURES" as const,
    }));
  await readObservations(counted, streamsOf(1), 10 * minuteMs);
  const ofOne = queries;
  queries = 0;
  const { status } = await readObservations(counted, streamsOf(200), 10 * minuteMs);
  expect(status.streams).toHaveLength(200);
  expect(queries).toBe(ofOne);
  expect(queries).toBeLessThan(20);
});
