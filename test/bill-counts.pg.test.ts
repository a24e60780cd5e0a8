// Holds: Stored days

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { type Database, inTransaction, openDatabase } from "../src/core/postgres/connect.ts";
import { recount } from "../src/core/store/bill-counts.ts";
import { findDifferingDays } from "../src/core/store/differing-days.ts";
import { mapType } from "../src/core/store/reference/stored-business-types.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import type { Ledger } from "../src/core/words/ledger.ts";
import { dayMs, epochMs, isoTime } from "../src/lib/time.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { openSandbox } from "./exchange/sandbox.ts";
import { aLedger, bills } from "./support/bills.ts";
import { environmentFor, runCli } from "./support/cli.ts";
import { fileDatabase, openTestDatabase } from "./support/database.ts";
import { smallLedger, storeLedgers } from "./support/small-ledger.ts";

const { db, url } = await fileDatabase();

const store = (at: Database, ledger: Ledger, given: ReturnType<typeof bills>) =>
  inTransaction(at, (tx) => upsertBills(tx, [{ ledger, bills: given }]));

const shownOf = async ({ account, productType }: Ledger) => {
  const { rows } = await db.execute<{ bills: string }>(sql`
    select bills from ledgers where account = ${account} and product_type = ${productType}`);
  return rows.map((row) => Number(row.bills));
};

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
    await using own = openDatabase(url);
    for (const turn of turns) await store(own.db, ledger, turn);
    isWriting = false;
  };
  const recounting = async () => {
    await using own = openDatabase(url);
    while (isWriting) await recount(own.db, ledger.account);
  };
  await Promise.all([write(), recounting(), recounting(), recounting()]);
  expect(await shownOf(ledger)).toEqual([560]);
});

test.concurrent("rows that disappeared are a break with its days, which stays until somebody accepts it", async () => {
  await using sandbox = await openSandbox({ seed: "deleted", density: 0.1 });
  await using own = await openTestDatabase();
  const env = environmentFor(sandbox, own, { PRODUCT_TYPES: "USDT-FUTURES" });
  const run = (...command: readonly string[]) => runCli(command, { env });
  const breaksOf = async (...command: readonly string[]) => {
    const { code, stdout } = await run("reconcile", "--json", ...command);
    return { code, breaks: JSON.parse(stdout).breaks };
  };
  /** The oldest bills of a chain: no balance before them shows that they are missing. */
  const deleteOldest = async (bills: number) => {
    const { rows } = await own.db.execute<{ day: string }>(sql`
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
    kind: "rows-gone",
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
    /^when counted, \d+ of \d+ bills were there: .* bill-sync reconcile --repair reads again what the exchange still has; this break stays until it is accepted$/,
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
    breaks: [{ kind: "rows-gone", difference: "-3" }],
  });
}, 120_000);

test("a row that was changed by hand is a break also where the count is right, and days are added up anew where a break shows it", async () => {
  const account = "both";
  await storeLedgers(db, new Map([[account, smallLedger(seededRandom(account), {})]]));
  const check = async (isFull: boolean) =>
    reconcile(db, { accounts: [account], productTypes: undefined }, { isFull });
  expect((await check(true)).breaks).toEqual([]);
  const own = sql`account = ${account} and business_type = 'open_long'`;
  await db.execute(sql`
    update bills set business_type = 'by_hand', bill_id = '17'
    where account = ${account} and bill_id = (select min(bill_id) from bills where ${own})`);
  expect(await check(true)).toMatchObject({
    ...{
      recounted: [],
      wrongDays: [{ account }],
      breaks: [{ kind: "rows-gone", difference: "-1" }],
    },
  });
  expect(await check(true)).toMatchObject({ wrongDays: [], breaks: [{ kind: "rows-gone" }] });
  expect(await mapType(db, "by_hand", "bonus")).toMatchObject({ listedCategory: "unclassified" });
  for (const [change, breaks] of [
    ["+", [{ kind: "rows-gone" }, {}]],
    ["-", [{ kind: "rows-gone" }]],
  ] as const) {
    // A bill of the middle, whose balance others follow.
    await db.execute(sql`
      update bills set amount = amount ${sql.raw(change)} 3, fee = fee ${sql.raw(change)} 2
      where account = ${account} and bill_id = (select max(bill_id) from bills where ${own})`);
    await db.execute(sql`
      update bills set ingested_at = clock_timestamp()
      where account = ${account} and bill_id = (select max(bill_id) from bills where account = ${account})`);
    expect(await check(false)).toMatchObject({ wrongDays: [{ account }], breaks });
    expect(await findDifferingDays(db, account)).toEqual([]);
  }
});
