// A ledger's kept count is that of its rows.

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { reconcile } from "../src/check/reconcile/reconcile.ts";
import { type Database, inTransaction, openDatabase } from "../src/core/postgres/connect.ts";
import { correctCounts } from "../src/core/store/bill-counts.ts";
import { upsertBills } from "../src/core/store/store-bills.ts";
import type { Ledger } from "../src/core/words/ledger.ts";
import { aLedger, bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";

const { db, url } = await fileDatabase();

const store = (at: Database, ledger: Ledger, given: ReturnType<typeof bills>) =>
  inTransaction(at, (tx) => upsertBills(tx, [{ ledger, bills: given }]));

const shownOf = async ({ account, productType }: Ledger) => {
  const { rows } = await db.execute<{ bills: string }>(sql`
    select bills from ledgers where account = ${account} and product_type = ${productType}`);
  return rows.map((row) => Number(row.bills));
};

test("a count is that of the rows after any number of writers and corrections at once, and a whole check", async () => {
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
  const correcting = async () => {
    await using own = openDatabase(url);
    while (isWriting) await correctCounts(own.db, ledger.account);
  };
  await Promise.all([write(), correcting(), correcting(), correcting()]);
  const among = { accounts: [ledger.account], productTypes: undefined };
  await reconcile(db, among, { isFull: true });
  expect(await shownOf(ledger)).toEqual([560]);
  await db.execute(sql`delete from bills where account = ${ledger.account}`);
  await reconcile(db, among, { isFull: false });
  expect(await shownOf(ledger)).toEqual([560]);
  await reconcile(db, among, { isFull: true });
  expect(await shownOf(ledger)).toEqual([0]);
});
