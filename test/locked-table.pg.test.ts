import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { escapeIdentifier } from "pg";
import { expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import { Leases } from "../src/db/lease/leases.ts";
import { LockWaits } from "../src/db/lease/lock-waits.ts";
import { DatabaseSilentError } from "../src/errors.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import { openVerifyStore } from "../src/ledger/verification-store.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aPage, holdStream, minutes, plan, timesOf } from "./support/held-store.ts";

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
async function pagesOf(lockWaits: LockWaits, windows: number) {
  const held = await holdStream(tables.db);
  const { stream, runId } = held;
  const all = Array.from({ length: windows }, (_, index) => minutes(index * 10, index * 10 + 10));
  await plan(held, all);
  const store = openStore(tables.db, { account: stream.account, epoch: 1 }, runId, lockWaits);
  const commit = () =>
    Promise.allSettled(
      all.map((window, index) => {
        const bills = [aBill({ billId: String(2_000_000 + index) })];
        return store.commitPage(aPage(stream, window, { cursor: "c" }, { bills }));
      }),
    );
  return { stream, store, commit };
}

const isHeldUp = /lock timeout, 55P03\): another session holds a lock; find it by pg_blocking_pids/;

test("a locked table is waited for once for all pages and accounts", async () => {
  const waits = new LockWaits(tables.db, { lockMaxMs: 1_500 });
  const [one, other] = [await pagesOf(waits, 40), await pagesOf(waits, 3)];
  {
    await using _ = await lockTable("bills");
    const results = await one.commit();
    const errors = new Set(results.map((result) => result.status === "rejected" && result.reason));
    // All pages fail with one error, so no page waited on its own.
    expect(errors.size).toBe(1);
    const [error] = errors;
    expect(error).toBeInstanceOf(DatabaseSilentError);
    expect(error.message).toMatch(isHeldUp);
    await expect(one.store.knownTime(one.stream)).rejects.toBe(error);
    // The other store waits for a second: the run's time for waiting is used up.
    const begunAt = performance.now();
    for (const result of await other.commit()) expect(result).toMatchObject({ status: "rejected" });
    expect(performance.now() - begunAt).toBeLessThan(1_400);
  }
  expect(new Set(await timesOf(tables.db, one.stream)).size).toBe(40);
  const next = openStore(tables.db, { account: one.stream.account, epoch: 1 }, randomUUID());
  const page = aPage(one.stream, minutes(0, 10), { cursor: "c" }, { bills: [aBill()] });
  expect(await next.commitPage(page)).toMatchObject({ new: 1 });
});

test("a lock that ends in time costs nothing but the wait", async () => {
  const { commit } = await pagesOf(new LockWaits(tables.db), 3);
  const admin = await lockTable("bills");
  const committed = commit();
  await admin[Symbol.asyncDispose]();
  expect((await committed).map(({ status }) => status)).toEqual(Array(3).fill("fulfilled"));
});

const { signal } = new AbortController();
const bill = aBill();
type Held = Awaited<ReturnType<typeof holdStream>> & { readonly lockWaits: LockWaits };
const storeOf = ({ stream, lockWaits }: Held) =>
  openStore(tables.db, { account: stream.account, epoch: 1 }, randomUUID(), lockWaits);
const verifyStore = ({ stream, lockWaits }: Held) =>
  openVerifyStore(tables.db, { account: stream.account, epoch: 1 }, randomUUID(), lockWaits);

test.each<readonly [string, string, (held: Held) => Promise<unknown>]>([
  [
    "takes an account",
    "leases",
    ({ lockWaits }) => new Leases(tables.db).take("another", { signal, lockWaits }),
  ],
  [
    "reads what is known of a stream's time",
    "windows",
    (held) => storeOf(held).knownTime(held.stream),
  ],
  ["compares a page", "bills", (held) => verifyStore(held).compare(held.stream, [bill])],
  [
    "repairs",
    "leases",
    (held) =>
      verifyStore(held).repair({
        stream: held.stream,
        differing: [{ bill, changes: undefined }],
        rejected: [],
      }),
  ],
])("a run is told of a lock where it %s: %s", async (_, table, act) => {
  const held = await holdStream(tables.db);
  await using _lock = await lockTable(table);
  const acting = act({ ...held, lockWaits: new LockWaits(tables.db, { lockMaxMs: 300 }) });
  await expect(acting).rejects.toThrow(DatabaseSilentError);
  await expect(acting).rejects.toThrow(isHeldUp);
});

test("a statement that is not answered is waited for once in a run: no other gets as long", async () => {
  const waits = new LockWaits(tables.db, { statementMaxMs: 200 });
  const limitOf = async () => {
    const { rows } = await waits.transact((tx) =>
      tx.execute<{ statement_timeout: string }>(sql`show statement_timeout`),
    );
    return rows[0]?.statement_timeout;
  };
  expect(await limitOf()).toBe("200ms");
  await expect(waits.transact((tx) => tx.execute(sql`select pg_sleep(60)`))).rejects.toThrow();
  expect(await limitOf()).toBe("15s");
});
