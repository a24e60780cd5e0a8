import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openDatabase } from "../src/db/connect.ts";
import type { Connections } from "../src/db/connections.ts";
import { Leases } from "../src/db/lease/leases.ts";
import { LockWaits } from "../src/db/lease/lock-waits.ts";
import { DatabaseSilentError } from "../src/errors.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import { openVerifyStore } from "../src/ledger/verification-store.ts";
import { aBill } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { aPage, holdStream, minutes, plan, timesOf } from "./support/held-store.ts";

const { database, tables } = await fileDatabase();

/** An administrator's session that holds a lock on the table. */
async function lockTable(name = "bills") {
  const url = new URL(database.url);
  url.searchParams.set("application_name", "psql");
  const admin = openDatabase(url.href);
  const client = await admin.db.$client.connect();
  const { rows } = await client.query("select pg_backend_pid() as pid");
  await client.query("begin");
  await client.query(`lock table ${name}`);
  return {
    pid: Number(rows[0]?.pid),
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

test("however many works wait, one look at a time is made for who blocks them, before which renewals need not wait", async () => {
  const lookEveryMs = 100;
  const waits = new LockWaits(tables.db, { maxMs: 60_000, nextMaxMs: 50, lookEveryMs });
  const pool = tables.db.$client as Connections;
  const connectFirst = pool.connectFirst.bind(pool);
  let looks = 0;
  pool.connectFirst = () => {
    looks += 1;
    return connectFirst();
  };
  const begunAt = performance.now();
  try {
    const works = Array.from({ length: 40 }, () => waits.within(() => delay(6 * lookEveryMs)));
    await Promise.all(works);
  } finally {
    pool.connectFirst = connectFirst;
  }
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThanOrEqual(1 + (performance.now() - begunAt) / lookEveryMs);
});

test("a locked table is waited for once for all pages and accounts, and who locked it is named", async () => {
  const waits = new LockWaits(tables.db, { maxMs: 1_500, nextMaxMs: 50, lookEveryMs: 200 });
  const [one, other] = [await pagesOf(waits, 40), await pagesOf(waits, 3)];
  {
    await using admin = await lockTable();
    const results = await one.commit();
    const errors = new Set(results.map((result) => result.status === "rejected" && result.reason));
    // All pages fail with one error, so no page waited on its own.
    expect(errors.size).toBe(1);
    const [error] = errors;
    expect(error).toBeInstanceOf(DatabaseSilentError);
    expect(error.message).toMatch(
      new RegExp(
        "^this run waited 1.5 s for a lock that another session holds: " +
          `process ${admin.pid} of user \\S+ \\(psql\\) in a transaction for 0 min with ` +
          '"lock table bills"; let it end, or end it by ' +
          `select pg_terminate_backend\\(${admin.pid}\\), and run again; what was committed is kept$`,
      ),
    );
    await expect(one.store.knownTime(one.stream)).rejects.toBe(error);
    // The other store does not wait any more: the run's time for waiting is used up.
    for (const result of await other.commit()) {
      expect(result).toMatchObject({ reason: { message: error.message } });
    }
  }
  expect(new Set(await timesOf(tables.db, one.stream)).size).toBe(40);
  const next = openStore(tables.db, { account: one.stream.account, epoch: 1 }, crypto.randomUUID());
  const page = aPage(one.stream, minutes(0, 10), { cursor: "c" }, { bills: [aBill()] });
  expect(await next.commitPage(page)).toMatchObject({ new: 1 });
});

test("a lock that ends in time costs nothing but the wait", async () => {
  const waits = new LockWaits(tables.db, { maxMs: 60_000, nextMaxMs: 50, lookEveryMs: 200 });
  const { commit } = await pagesOf(waits, 3);
  const admin = await lockTable();
  const committed = commit();
  await admin[Symbol.asyncDispose]();
  expect((await committed).map(({ status }) => status)).toEqual(Array(3).fill("fulfilled"));
});

const { signal } = new AbortController();
const bill = aBill();
type Held = Awaited<ReturnType<typeof holdStream>> & { readonly lockWaits: LockWaits };
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
    ({ stream, runId, lockWaits }) =>
      openStore(tables.db, { account: stream.account, epoch: 1 }, runId, lockWaits).knownTime(
        stream,
      ),
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
])("who locked a table is named soon where a run %s: %s", async (_, table, act) => {
  const held = await holdStream(tables.db);
  const lockWaits = new LockWaits(tables.db, { maxMs: 1_500, nextMaxMs: 50, lookEveryMs: 200 });
  await using admin = await lockTable(table);
  const acting = act({ ...held, lockWaits });
  await expect(acting).rejects.toThrow(DatabaseSilentError);
  await expect(acting).rejects.toThrow(
    `waited 1.5 s for a lock that another session holds: process ${admin.pid} of user`,
  );
  await expect(acting).rejects.toThrow(`with "lock table ${table}"`);
});

test("a statement that is not answered is waited for once in a run: no other gets as long", async () => {
  const waits = new LockWaits(tables.db, {
    ...{ maxMs: 60_000, nextMaxMs: 50, lookEveryMs: 60_000 },
    ...{ statementMaxMs: 200, nextStatementMaxMs: 77 },
  });
  const limitOf = async () => {
    const { rows } = await waits.transact((tx) =>
      tx.execute<{ statement_timeout: string }>(sql`show statement_timeout`),
    );
    return rows[0]?.statement_timeout;
  };
  expect(await limitOf()).toBe("200ms");
  await expect(waits.transact((tx) => tx.execute(sql`select pg_sleep(60)`))).rejects.toThrow();
  expect(await limitOf()).toBe("77ms");
});
