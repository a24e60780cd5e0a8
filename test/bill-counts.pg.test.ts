// Holds: Stored days

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { type Database, inTransaction, openDatabase } from "../src/db/connect.ts";
import { recount } from "../src/ledger/bill-counts.ts";
import { upsertBills } from "../src/ledger/upsert-bills.ts";
import { seededRandom } from "../src/sandbox/random.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import type { Ledger } from "../src/sync/store.ts";
import { aLedger, bills } from "./support/bills.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { fileDatabase, testDatabase } from "./support/database.ts";
import { smallLedger, storeLedgers } from "./support/small-ledger.ts";

const { database, tables } = await fileDatabase();
const { db } = tables;

const store = (at: Database, ledger: Ledger, given: ReturnType<typeof bills>) =>
  inTransaction(at, (tx) => upsertBills(tx, [{ ledger, bills: given }]));

const shownOf = async ({ account, productType }: Ledger) => {
  const { rows } = await db.execute<{ bills: string }>(sql`
    select bills from ledgers where account = ${account} and product_type = ${productType}`);
  return rows.map((row) => Number(row.bills));
};

test("a count that went wrong is set right, one that is right is not written", async () => {
  const ledger = aLedger();
  await store(db, ledger, bills(20));
  await db.execute(sql`
    delete from bills where account = ${ledger.account} and bill_id < '1000007'`);
  expect(await recount(db, ledger.account)).toEqual([{ ...ledger, counted: 20, stored: 13 }]);
  expect(await shownOf(ledger)).toEqual([13]);
  const version = async () => {
    const { rows } = await db.execute(sql`
      select xmin::text from ledgers where account = ${ledger.account}`);
    return rows;
  };
  const before = await version();
  expect(await recount(db, ledger.account)).toEqual([]);
  expect(await version()).toEqual(before);
});

test("the count is that of the rows after any number of writers and recounts at once", async () => {
  const ledger = aLedger();
  const all = bills(600);
  await store(db, ledger, all.slice(0, 100));
  await db.execute(sql`
    delete from bills where account = ${ledger.account} and bill_id < '1000040'`);
  const turns = Array.from({ length: 50 }, (_, turn) =>
    all.slice(100 + turn * 10, 110 + turn * 10),
  );
  let isWriting = true;
  const write = async () => {
    await using own = openDatabase(database.url);
    for (const turn of turns) await store(own.db, ledger, turn);
    isWriting = false;
  };
  const recounting = async () => {
    await using own = openDatabase(database.url);
    while (isWriting) await recount(own.db, ledger.account);
  };
  await Promise.all([write(), recounting(), recounting(), recounting()]);
  expect(await shownOf(ledger)).toEqual([560]);
});

test.concurrent("verify, and a reconcile that sees a break, count anew what status shows", async () => {
  await using sandbox = await openSandbox({ seed: "counts", density: 0.1 });
  await using own = await testDatabase();
  await using at = openDatabase(own.url);
  const env = environmentFor(sandbox, own, { PRODUCT_TYPES: "USDT-FUTURES" });
  const run = (...command: readonly string[]) => runCli(command, { env });
  const status = async () => {
    const [ledger] = JSON.parse((await run("status", "--json")).stdout).ledgers;
    return ledger.bills as number;
  };
  expect((await run("sync", "--only", "bills")).code).toBe(0);
  expect((await run("reconcile")).code).toBe(0);
  const whole = await status();

  await at.db.execute(sql`
    delete from bills
    where bill_id in (
      select bill_id from bills where c_time > now() - interval '20 days' order by c_time limit 3
    )`);
  // It finds a break, so it looks at all bills.
  const reconciled = await run("reconcile", "--json");
  expect(JSON.parse(reconciled.stdout)).toMatchObject({
    recounted: [{ account: "main", counted: whole, stored: whole - 3 }],
  });
  expect(await status()).toBe(whole - 3);

  await at.db.execute(sql`update ledgers set bills = bills + 40`);
  const day = (ago: number) => isoTime(epochMs(Date.now() - ago * dayMs));
  const span = ["--from", day(21), "--to", day(1)];
  const verified = await run("verify", ...span, "--repair");
  expect(verified.code).toBe(0);
  expect(verified.stdout).toMatch(/^main\/USDT-FUTURES: status showed [\d,]+ bills; [\d,]+ are/m);
  expect(await status()).toBe(whole);
});

test.concurrent("rows that disappeared are a break with its days, which stays until somebody accepts it", async () => {
  await using sandbox = await openSandbox({ seed: "deleted", density: 0.1 });
  await using own = await testDatabase();
  await using at = openDatabase(own.url);
  const env = environmentFor(sandbox, own, { PRODUCT_TYPES: "USDT-FUTURES" });
  const run = (...command: readonly string[]) => runCli(command, { env });
  const breaksOf = async (...command: readonly string[]) => {
    const { code, stdout } = await run("reconcile", "--json", ...command);
    return { code, breaks: JSON.parse(stdout).breaks };
  };
  /** The oldest bills of a chain: no balance before them shows that they are missing. */
  const deleteOldest = async (bills: number) => {
    const { rows } = await at.db.execute<{ day: string }>(sql`
      delete from bills
      where bill_id in (
        select bill_id from bills where coin = 'USDT' order by c_time, length(bill_id), bill_id limit ${bills}
      )
      returning to_char(c_time at time zone 'UTC', 'YYYY-MM-DD') as day`);
    return [...new Set(rows.map(({ day }) => day))].toSorted();
  };
  expect((await run("sync", "--only", "bills")).code).toBe(0);
  expect(await breaksOf()).toEqual({ code: 0, breaks: [] });

  const days = await deleteOldest(40);
  const deleted = {
    kind: "deleted",
    account: "main",
    ledger: "USDT-FUTURES",
    difference: "-40",
    happenedAt: `${days[0]}T00:00:00Z`,
    explanation: expect.stringContaining(days[0] ?? "no day"),
  };
  const found = await breaksOf("--full");
  expect(found).toMatchObject({ code: 1, breaks: [deleted] });
  // It speaks of the moment of the count, and is as true once the bills are read again.
  expect(found.breaks[0].explanation).toMatch(
    /^when counted, \d+ of \d+ bills were there: .* these days reads again what the exchange still has, and this stays until it is accepted$/,
  );
  // Its count is right from now on, and nobody has said why the bills are gone.
  expect(await breaksOf("--full")).toMatchObject({ code: 1, breaks: [deleted] });
  expect(await breaksOf()).toMatchObject({ code: 1, breaks: [deleted] });
  expect((await run("status", "--check")).code).toBe(1);
  const accepted = String(found.breaks[0].breakId);
  expect((await run("breaks", "accept", accepted, "--note", "pruned by Ann")).code).toBe(0);
  expect(await breaksOf("--full")).toEqual({ code: 0, breaks: [] });

  // More are deleted, and a verification of another time is the first to count.
  await deleteOldest(3);
  const yesterday = isoTime(epochMs(Date.now() - dayMs));
  await run("verify", "--from", yesterday, "--repair");
  expect(await breaksOf("--full")).toMatchObject({
    code: 1,
    breaks: [{ kind: "deleted", difference: "-3" }],
  });
}, 120_000);

test("a deleted row is a break also where another was added, so that the count is right", async () => {
  const account = "both";
  await storeLedgers(db, new Map([[account, smallLedger(seededRandom(account), {})]]));
  const scope = { accounts: [account], productTypes: undefined };
  expect((await reconcile(db, scope, { isFull: true })).breaks).toEqual([]);
  await db.execute(sql`
    update bills set business_type = 'bonus_issue', bill_id = '17'
    where account = ${account}
      and bill_id = (
        select min(bill_id) from bills where account = ${account} and business_type = 'open_long'
      )`);
  const { breaks, recounted, wrongDays } = await reconcile(db, scope, { isFull: true });
  expect(recounted).toEqual([]);
  expect(wrongDays).toMatchObject([{ account }]);
  expect(breaks).toMatchObject([{ kind: "deleted", difference: "-1" }]);
  const again = await reconcile(db, scope, { isFull: true });
  expect(again).toMatchObject({ wrongDays: [], breaks: [{ kind: "deleted" }] });
});
