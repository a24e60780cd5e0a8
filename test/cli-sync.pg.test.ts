// Holds: Nothing dropped, No false success, Twice is once

import { parseEnv } from "node:util";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { accountBills } from "../src/core/contract/account-bills.ts";
import type { ProductType } from "../src/core/contract/product-types.ts";
import type { Database } from "../src/core/postgres/connect.ts";
import { dayMs, epochMs, isoTime } from "../src/lib/time.ts";
import { type CliEnd, runCli, startCli } from "./support/cli.ts";
import { testDatabase } from "./support/database.ts";
import { openHouse } from "./support/house.ts";
import { exactly, heldAgainstLedger } from "./support/sandbox-ledger.ts";

const wanted = ["USDT-FUTURES", "SUSDT-FUTURES"] as const satisfies ProductType[];

const house = () => openHouse({ seed: "cli", density: 0.3 }, { PRODUCT_TYPES: wanted.join() });

/** As if no migration had ever run. */
async function dropTables(db: Database): Promise<void> {
  await db.execute(sql`drop schema if exists drizzle cascade`);
  await db.execute(sql`drop schema public cascade`);
  await db.execute(sql`create schema public`);
}

/** Every row with the transaction that last wrote it. */
async function versions(db: Database): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.execute<{ key: string; xmin: string }>(
    sql`select product_type || ' ' || bill_id as key, xmin::text from bills`,
  );
  return new Map(rows.map(({ key, xmin }) => [key, xmin]));
}

const logOf = ({ stderr }: Pick<CliEnd, "stderr">): readonly Readonly<Record<string, unknown>>[] =>
  stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** A table's rows by their first cells, counts as numbers. */
const tableOf = (stdout: string): ReadonlyMap<string, readonly (string | number)[]> =>
  new Map(
    stdout
      .split("\n\n")[0]
      ?.split("\n")
      .slice(1)
      .map((line) => {
        const [name = "", ...cells] = line.split(/ +/);
        return [
          name,
          cells.map((cell) => (/^[\d,]+$/.test(cell) ? Number(cell.replaceAll(",", "")) : cell)),
        ];
      }),
  );

test.concurrent("the first sync makes the tables, stores the ledger to the last digit and says so; the second changes no row, and --json narrowed by --product is one document", async () => {
  await using at = await house();
  const { db, sandbox, run } = at;
  await dropTables(db);
  const syncedAt = Date.now();
  const first = await run("sync");
  expect(first.code).toBe(0);
  for (const productType of wanted)
    expect(await heldAgainstLedger(db, sandbox, productType, syncedAt)).toMatchObject(exactly);
  const stored = await versions(db);
  const [title, ...lines] = first.stdout.trimEnd().split("\n");
  expect(title).toMatch(/^main +new {2}restated {2}rejected {2}requests {7}read through$/);
  expect(lines.at(-1)).toMatch(/^complete, after \d/);
  const rows = tableOf(first.stdout);
  expect([...rows.keys()]).toEqual([...wanted, "all"]);
  const { arrivals, refusals, peaks } = sandbox.statistics();
  const requests = arrivals[accountBills.name];
  expect(rows.get("all")?.slice(0, 4)).toEqual([stored.size, 0, 0, requests]);
  expect(rows.get("USDT-FUTURES")?.slice(4).join(" ")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\dZ$/);
  expect(refusals).toEqual({});
  expect(Math.max(...peaks.map((peak) => peak.requests))).toBeLessThanOrEqual(10);
  const messages = [
    ...[/^applied \d+ migrations?$/, /^main: its key is new: user \w+'s; it may only read; /],
    ...[/^planned$/, /^planned$/, /^sync ended: complete$/],
  ];
  const log = logOf(first);
  expect(log.map(({ msg }) => msg)).toEqual(messages.map((one) => expect.stringMatching(one)));
  const counts = { requests, new: stored.size, unchanged: 0, restated: 0, rejected: 0 };
  expect(log.at(-1)).toMatchObject(counts);

  const second = await run("sync");
  expect(second.code).toBe(0);
  const after = await versions(db);
  for (const [key, xmin] of stored) expect(after.get(key)).toBe(xmin);
  expect(tableOf(second.stdout).get("all")?.[0]).toBe(after.size - stored.size);
  const { rows: runs } = await db.execute(
    sql`select command, outcome, error, finished_at is not null as finished from runs order by started_at`,
  );
  const run_ = { command: "sync", outcome: "complete", error: null, finished: true };
  const check = { ...run_, command: "reconcile" };
  expect(runs).toEqual([run_, check, run_, check]);

  const third = await run("sync", "--json", "--product", "SUSDT-FUTURES");
  expect(JSON.parse(third.stdout)).toMatchObject({
    ...{ outcome: "complete", rejected: [], accounts: [{ account: "main" }] },
    ledgers: [{ account: "main", productType: "SUSDT-FUTURES", lost: [] }],
  });
});

test.concurrent("plan names windows and requests for a database without tables, writes nothing, and asks no bills", async () => {
  await using at = await house();
  const { db, sandbox, run } = at;
  await dropTables(db);
  const end = await run("sync", "--dry-run");
  expect(end).toMatchObject({ code: 0, stderr: "" });
  const rows = tableOf(end.stdout);
  expect([...rows.keys()]).toEqual(wanted);
  expect(rows.get("USDT-FUTURES")?.slice(0, 2)).toEqual([13, 0]);
  expect(end.stdout).toContain(
    "\n26 windows, 52 requests at least, plus one for every page of up to 100 bills\n",
  );
  const json = await run("sync", "--dry-run", "--json", "--product", "USDT-FUTURES");
  expect(JSON.parse(json.stdout)).toMatchObject({
    windowsPlanned: 13,
    requestsMin: 26,
    ledgers: [{ account: "main", productType: "USDT-FUTURES", lost: [] }],
  });
  expect(sandbox.statistics().arrivals).toEqual({ symbols: 2 });
  const { rows: tables } = await db.execute(
    sql`select 1 from information_schema.tables where table_schema in ('public', 'drizzle')`,
  );
  expect(tables).toEqual([]);
});

test.concurrent("a reader that goes away from stdout and stderr does not end the run", async () => {
  await using at = await house();
  const { db, sandbox, env } = at;
  const syncedAt = Date.now();
  await using sync = await startCli(["sync", "--product", "SUSDT-FUTURES"], { env });
  for (const stream of ["stdout", "stderr"] as const) sync.close(stream);
  expect(await sync.ended).toMatchObject({ code: 0, signal: null });
  expect(await heldAgainstLedger(db, sandbox, "SUSDT-FUTURES", syncedAt)).toMatchObject(exactly);
});

test("a sandbox that is started again has the same account and history: it adds up with what was stored before", async () => {
  await using database = await testDatabase();
  for (const _ of ["first", "again"]) {
    await using sandbox = await startCli(["sandbox"]);
    const [text] = await sandbox.seen("stdout", /^(\w+=\S+\n){5}$/);
    const settings = { ...parseEnv(text), DATABASE_URL: database.url };
    const env = { ...settings, PRODUCT_TYPES: "USDT-FUTURES" };
    const end = await runCli(["sync", "--only", "bills"], { env });
    expect(end, end.stdout).toMatchObject({ code: 0 });
    const verified = await runCli(["verify", "--from", daysAgo(20), "--to", daysAgo(1)], { env });
    expect(verified, verified.stdout).toMatchObject({ code: 0 });
  }
});

const daysAgo = (days: number) => isoTime(epochMs(Date.now() - days * dayMs)).slice(0, 10);
