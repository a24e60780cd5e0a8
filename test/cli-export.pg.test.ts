// Holds: No answer over a hole
// Accounts of demo trading are left out.
// A file is written whole or not at all; head is no failure; what may be missing is named.

import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import type { FormatName } from "../src/books/export/formats.ts";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { epochMs, isoTime } from "../src/lib/time.ts";
import { snowflake } from "../src/wings/sandbox/entry.ts";
import { makeLedger } from "./exchange/account-ledger.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { writeAccounts } from "./support/accounts-file.ts";
import { aBill, bills } from "./support/bills.ts";
import { environmentFor, runCli, startCli, temporaryFolder } from "./support/cli.ts";
import { fileDatabase, openTestDatabase, testDatabase } from "./support/database.ts";
import { exported, exportedByCommand, storeLedger } from "./support/export.ts";
import { untilBlocked } from "./support/held-store.ts";
import { ledgerOf, storeBills, storeTime } from "./support/stored-ledger.ts";

const { db, url } = await fileDatabase();
const env = { DATABASE_URL: url };

const ledger = makeLedger({ seed: "cli", now: Date.UTC(2026, 10, 21), density: 0.1 });
await storeLedger(db, "main", ledger);
await storeBills(db, ledgerOf("wide"), [
  ...bills(5_000),
  aBill({ billId: "4711", amount: "1e-19", cTime: bills(1)[0]?.cTime ?? aBill().cTime }),
]);
await reconcile(db, { accounts: undefined, productTypes: undefined }, { isFull: true });
const august = [
  { from: "2026-08-01Z", to: "2026-08-08Z" },
  { from: "2026-08-09Z", to: "2026-08-12Z" },
];
const november = { from: "2023-11-01Z", to: "2023-12-01Z" };
await storeTime(db, ledgerOf("main"), { covered: august });
await storeTime(db, ledgerOf("wide"), { covered: [november] });

const ofMain = ["export", "--account", "main", "--to", "2099-01-01", "--format"];

test("a file holds what standard output would, and nothing lies beside it; it is not replaced without --force", async () => {
  await using folder = await temporaryFolder();
  for (const format of ["csv", "parquet"] as const) {
    const end = await runCli([...ofMain, format, "--output", format], { env, cwd: folder.path });
    expect(end).toMatchObject({ code: 0, stdout: "" });
    expect(end.stderr).toMatch(/\n\w+: [\d,]+ bills\n$/);
    const written = await readFile(join(folder.path, format));
    expect(written.equals(await exported(db, format, { accounts: ["main"] }))).toBe(true);
    if (format === "csv")
      expect((await runCli([...ofMain, format], { env })).stdout).toBe(written.toString("utf8"));
  }
  expect(await readdir(folder.path)).toEqual(["csv", "parquet"]);
  const path = join(folder.path, "csv");
  await writeFile(path, "signed");
  // Before the database is asked.
  const nowhere = { DATABASE_URL: "postgres://127.0.0.1:1/none" };
  expect(await runCli([...ofMain, "csv", "--output", path], { env: nowhere })).toMatchObject({
    ...{ code: 2, stderr: `--output ${path} exists; add --force to replace it\n` },
  });
  expect(await readFile(path, "utf8")).toBe("signed");
  // One that fails on its way leaves what was there.
  const failing = ["export", "--format", "parquet", "--account", "wide", "--force", "--output"];
  expect(await runCli([...failing, path], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/bill wide\/USDT-FUTURES 4711: amount 0\.0{18}1 does not fit/),
  });
  expect(await readFile(path, "utf8")).toBe("signed");
  expect((await runCli([...ofMain, "csv", "--output", path, "--force"], { env })).code).toBe(0);
  expect(await readFile(path, "utf8")).toMatch(/^account,/);
  expect(await readdir(folder.path)).toEqual(["csv", "parquet"]);
  for (const [path, message, code] of [
    ["/dev/null", "--output /dev/null is not a file", 2],
    ["missing/x.csv", "--output missing/x.csv could not be written: ENOENT", 1],
  ] as const)
    expect(await runCli([...ofMain, "csv", "--output", path], { env })).toMatchObject({
      ...{ code, stderr: expect.stringContaining(message) },
    });
});

test("a reader that has seen enough, such as head, ends an export quietly and with code 0", async () => {
  const head = `set -o pipefail; "${process.execPath}" src/bin.js export --format csv --account wide | head -n 2`;
  const lines = execFileSync("bash", ["-c", head], {
    env: { PATH: process.env["PATH"], ...env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  expect(lines.split("\n")).toHaveLength(3);
  expect(lines).toMatch(/^account,[^\n]*\nwide,/);
  const covered = ["--account", "wide", "--to", "2023-12-01"];
  await using early = await startCli(["export", "--format", "csv", ...covered], { env });
  early.close("stdout");
  expect(await early.ended).toMatchObject({ code: 0, stderr: "" });
});

test("SIGTERM leaves no file, and code 1", async () => {
  await using folder = await temporaryFolder();
  const output = join(folder.path, "bills.csv");
  // A lock on a table that the export reads keeps it from ending.
  const client = await db.$client.connect();
  await client.query("begin; lock table rejected_bills in access exclusive mode");
  await using running = await startCli(
    ["export", "--format", "csv", "--account", "wide", "--output", output],
    { env },
  );
  await untilBlocked(db);
  running.kill("SIGTERM");
  await client.query("rollback");
  client.release();
  expect(await running.ended).toMatchObject({ code: 1, stdout: "" });
  expect(await readdir(folder.path)).toEqual([]);
});

test("standard error says what may be missing, and the exit code stays 0", async () => {
  await db.execute(sql`
    insert into rejected_bills (
      account, product_type, digest, received, path, reason, rejected_at
    )
    values ('main', 'USDT-FUTURES', 'a', '{}', 'amount', 'is odd', now())`);
  const run = (...args: string[]) => runCli(["export", "--format", "koinly", ...args], { env });
  expect(await run("--account", "main", "--to", "2026-08-12")).toMatchObject({
    code: 0,
    stderr:
      "warning: main/USDT-FUTURES was not read from 2026-08-08 00:00Z to 2026-08-09 00:00Z\n" +
      "warning: main/USDT-FUTURES rejected 1 row\n",
  });
  const covered = ["--account", "wide", "--from", "2023-11-01", "--to", "2023-12-01"];
  expect(await run(...covered)).toMatchObject({ code: 0, stderr: "" });
  expect(await run(...covered, "--product", "COIN-FUTURES,USDT-FUTURES")).toMatchObject({
    ...{ code: 2, stderr: "--product COIN-FUTURES is neither configured nor stored\n" },
  });
  await using empty = await testDatabase({ isEmpty: true });
  expect(
    await runCli(["export", "--format", "csv"], { env: { DATABASE_URL: empty.url } }),
  ).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^nothing is st/) });
});

test("what a real sync stored is exported as far as it was read completely, and whole with --to", async () => {
  await using own = await openTestDatabase();
  await using sandbox = await openSandbox({
    seed: "sync",
    productTypes: ["USDC-FUTURES"],
    density: 0.1,
  });
  const synced = environmentFor(sandbox, own, { PRODUCT_TYPES: "USDC-FUTURES" });
  expect((await runCli(["sync", "--only", "bills"], { env: synced })).code).toBe(0);
  // As bills arrive: one in the minutes that are to be read again.
  const newest = aBill({
    billId: snowflake(Date.now(), 0),
    cTime: epochMs(Date.now()),
    balance: "1",
  });
  await storeBills(own.db, ledgerOf("main", "USDC-FUTURES"), [newest]);
  expect((await runCli(["reconcile"], { env: synced })).code).toBe(0);
  const end = await runCli(["export", "--format", "hledger"], { env: synced });
  expect(end.code).toBe(0);
  // Nothing is missing in the file. The sandbox serves types that nobody has classified.
  expect(end.stderr).toMatch(
    /^(?:warning: \S+ has 1 bill of type \S+, without a category\n)*ends at \S+ \S+Z, up to which everything was read; --to includes newer bills\n$/,
  );
  expect(end.stdout).not.toMatch(/discrepancy/);
  const { stdout } = await runCli(["status", "--json"], { env: synced });
  const { ledgers } = JSON.parse(stdout);
  const through = ledgers[0].readThrough;
  const rows = async (...args: string[]) => {
    const end = await runCli(["export", "--format", "csv", ...args], { env: synced });
    return { rows: end.stdout.trimEnd().split("\r\n").slice(1), stderr: end.stderr };
  };
  const found = (await rows()).rows;
  const times = found.map((row) => row.split(",")[10] ?? "");
  expect(times.filter((time) => time >= through)).toEqual([]);
  expect(found.length).toBeGreaterThan(100);
  const whole = (await rows("--to", isoTime(epochMs(Date.now() + 60_000)))).rows;
  expect(whole).toHaveLength(ledgers[0].bills);
  expect(whole.length).toBeGreaterThan(found.length);
  // An incremental export leaves out no newest bill. Otherwise the next one would not have it either.
  const changed = await rows("--changed-since", "1970-01-01");
  expect(changed.rows).toEqual(whole);
  const [, next = ""] =
    /^to export what changes after this: --changed-since (\S+)$/m.exec(changed.stderr) ?? [];
  const agoMinutes = (Date.now() - Date.parse(next)) / 60_000;
  expect([agoMinutes > 9, agoMinutes < 15]).toEqual([true, true]);
}, 60_000);

test("reports and exports leave accounts of demo trading out unless they are named, and say so", async () => {
  await using own = await openTestDatabase();
  for (const [account, productType, coin] of [
    ["main", "USDT-FUTURES", "MAINUSDT"],
    ["main", "SCOIN-FUTURES", "MAINSCOIN"],
    ["paper", "USDT-FUTURES", "PAPERUSDT"],
    ["gone", "USDT-FUTURES", "GONEUSDT"],
  ] as const) {
    await storeBills(own.db, ledgerOf(account, productType), [aBill({ coin })]);
    await storeTime(own.db, { account, productType }, { covered: [november] });
  }
  await using folder = await temporaryFolder();
  const keys = { apiKey: "k", apiSecret: "s", apiPassphrase: "p" };
  const ACCOUNTS_FILE = await writeAccounts(folder.path, [
    { name: "main", ...keys },
    { name: "paper", ...keys, demo: true },
  ]);
  const coinsOf = async (...args: readonly string[]) => {
    const end = await runCli(args, { env: { DATABASE_URL: own.url, ACCOUNTS_FILE } });
    expect(end.code).toBe(0);
    const isSaid = end.stderr.includes(
      "left out, since demo trading is no money: paper; --account includes it\n",
    );
    const coins = ["MAINUSDT", "MAINSCOIN", "PAPERUSDT", "GONEUSDT"];
    return [...coins.filter((coin) => end.stdout.includes(coin)), isSaid];
  };
  const report = ["report", "--month", "2023-11", "--format", "json"];
  for (const command of [
    ...["csv", "koinly", "hledger", "beancount"].map((format) => ["export", "--format", format]),
    report,
  ]) {
    expect(await coinsOf(...command)).toEqual(["MAINUSDT", "MAINSCOIN", "GONEUSDT", true]);
    expect(await coinsOf(...command, "--account", "paper")).toEqual(["PAPERUSDT", false]);
  }
  // Nothing of that account is left out.
  expect(await coinsOf(...report, "--product", "SCOIN-FUTURES")).toEqual(["MAINSCOIN", false]);
});

test("a terminal is shown no escape of a name's, in any format of text; a pipe gets the letters", async () => {
  const hostile = "\u001b[2J\u009b31m\u202e\r\nall: fine";
  await storeBills(db, ledgerOf("hostile"), [aBill({ symbol: hostile, coin: hostile })]);
  await storeTime(db, ledgerOf("hostile"), { covered: [november] });
  const write = async (format: FormatName, isTTY: boolean) => {
    const { out, err } = await exportedByCommand(env, { format, account: ["hostile"] }, isTTY);
    return out + err;
  };
  for (const format of ["csv", "hledger", "beancount", "koinly"] as const) {
    const shown = await write(format, true);
    expect(shown.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(shown).toContain("all: fine");
  }
  expect(await write("csv", true)).toContain("\\u{1b}[2J");
  expect(await write("csv", false)).toContain("\u001b[2J");
});
