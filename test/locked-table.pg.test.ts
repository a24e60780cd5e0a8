// A table that an administrator has locked.

import { escapeIdentifier } from "pg";
import { expect, test } from "vitest";
import { openDatabase, type TransactionOptions } from "../src/db/connect.ts";
import { DatabaseSilentError } from "../src/errors.ts";
import { openStore, openVerifyStore } from "../src/ledger/ledger-store.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aPage, holdLedger, minutes, plan, timesOf } from "./support/held-store.ts";

const { database, tables } = await fileDatabase();

/** A session that holds a lock on the table. */
async function lockTable(name: string) {
  const admin = openDatabase(database.url);
  const client = await admin.db.$client.connect();
  await client.query("begin");
  await client.query(`lock table ${escapeIdentifier(name)}`);
  return {
    async [Symbol.asyncDispose]() {
      client.release(true);
      await admin[Symbol.asyncDispose]();
    },
  };
}

/** A page in each of that many windows, of a store of its own. */
async function pagesOf(windows: number, limits: TransactionOptions = {}) {
  const held = await holdLedger(tables.db);
  const { ledger } = held;
  const all = Array.from({ length: windows }, (_, index) => minutes(index * 10, index * 10 + 10));
  await plan(held, all);
  const store = openStore(tables.db, { account: ledger.account, epoch: 1 }, limits);
  const commit = () =>
    Promise.allSettled(
      all.map((window, index) => {
        const bills = [aBill({ billId: String(2_000_000 + index) })];
        return store.commitPage(aPage(ledger, window, { cursor: "c" }, { bills }));
      }),
    );
  return { ledger, store, commit };
}

const isHeldUp = /lock timeout, 55P03\): another session holds a lock; find it by pg_blocking_pids/;

test("a locked table is waited for once for all pages of an account", async () => {
  const one = await pagesOf(40, { lockMaxMs: 1_500 });
  {
    await using _ = await lockTable("bills");
    const results = await one.commit();
    const errors = new Set(results.map((result) => result.status === "rejected" && result.reason));
    // All pages fail with one error, so no page waited on its own.
    expect(errors.size).toBe(1);
    const [error] = errors;
    expect(error).toBeInstanceOf(DatabaseSilentError);
    expect(error.message).toMatch(isHeldUp);
    await expect(one.store.knownTime(one.ledger)).rejects.toBe(error);
  }
  expect(new Set(await timesOf(tables.db, one.ledger)).size).toBe(40);
  const next = openStore(tables.db, { account: one.ledger.account, epoch: 1 });
  const page = aPage(one.ledger, minutes(0, 10), { cursor: "c" }, { bills: [aBill()] });
  expect(await next.commitPage(page)).toMatchObject({ new: 1 });
});

const bill = aBill();
type Held = Awaited<ReturnType<typeof holdLedger>>;
const limits = { lockMaxMs: 300 };
const storeOf = ({ ledger }: Held) =>
  openStore(tables.db, { account: ledger.account, epoch: 1 }, limits);
const rows = { bills: [bill], rejected: [] };
const verifyStore = ({ ledger }: Held) =>
  openVerifyStore(tables.db, { account: ledger.account, epoch: 1 }, limits);

test.each<readonly [string, string, (held: Held) => Promise<unknown>]>([
  [
    "reads what is known of a ledger's time",
    "windows",
    (held) => storeOf(held).knownTime(held.ledger),
  ],
  ["compares a page", "bills", (held) => verifyStore(held).compare(held.ledger, rows, false)],
  ["repairs", "leases", (held) => verifyStore(held).repair(held.ledger, rows)],
])("a run is told of a lock where it %s: %s", async (_, table, act) => {
  const held = await holdLedger(tables.db);
  await using _lock = await lockTable(table);
  const acting = act(held);
  await expect(acting).rejects.toThrow(DatabaseSilentError);
  await expect(acting).rejects.toThrow(isHeldUp);
});
