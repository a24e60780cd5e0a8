// Holds: Atomic pages

import { sql } from "drizzle-orm";
import type { PoolClient } from "pg";
import { expect, test } from "vitest";
import type { Bill } from "../src/contract/bill.ts";
import type { Database } from "../src/db/connect.ts";
import { DatabaseError, LeaseLostError } from "../src/errors.ts";
import { readStoredBills } from "../src/ledger/bill-rows.ts";
import { openStore } from "../src/ledger/ledger-store.ts";
import type { PageCommit, PageCounts } from "../src/sync/store.ts";
import { bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import {
  aPage,
  type HeldLedger,
  holdLedger,
  minutes,
  plan,
  provenWhole,
  timesOf,
  untilBlocked,
} from "./support/held-store.ts";

const { tables } = await fileDatabase();

const windowsCount = 6;
const windowOf = (index: number) => minutes(index * 10, (index + 1) * 10);

/** A ledger with six planned windows. */
async function planned(): Promise<HeldLedger> {
  const held = await holdLedger(tables.db);
  await plan(
    held,
    Array.from({ length: windowsCount }, (_, index) => windowOf(index)),
  );
  return held;
}

/** A page for each window except the first, with two bills that no other page has. */
const onePageAWindow = ({ ledger }: HeldLedger, but: readonly Partial<PageCommit>[] = []) =>
  Array.from({ length: windowsCount - 1 }, (_, index) =>
    aPage(
      ledger,
      windowOf(index + 1),
      { cursor: `c${index + 1}` },
      { bills: bills(20).slice(2 * index, 2 * index + 2), ...but[index] },
    ),
  );

/**
 * Commits a page of the first window. While it waits for the account's row, the other pages are committed:
 * they form a group.
 */
async function commitAsGroup(
  { ledger }: HeldLedger,
  pages: readonly PageCommit[],
  db: Database = tables.db,
): Promise<readonly PromiseSettledResult<PageCounts>[]> {
  const store = openStore(db, { account: ledger.account, epoch: 1 });
  const blocker = await tables.db.$client.connect();
  try {
    await blocker.query("begin");
    await blocker.query("select from leases where account = $1 for update", [ledger.account]);
    const first = store.commitPage(aPage(ledger, windowOf(0), { cursor: "c0" }));
    await untilBlocked(tables.db, 1);
    // The results are collected at once. Otherwise a page that fails early would be an unhandled rejection.
    const others = Promise.allSettled(pages.map((page) => store.commitPage(page)));
    await blocker.query("commit");
    await first;
    return await others;
  } finally {
    blocker.release(true);
  }
}

const countsOf = (results: readonly PromiseSettledResult<PageCounts>[]) =>
  results.map((result) => (result.status === "fulfilled" ? result.value : "failed"));

const twoNew = { new: 2, unchanged: 0, restated: 0, rejected: 0 };
const moved = [0, 1, 2, 3, 4, 5].map((index) => `${index * 10}-${index * 10 + 10} open c${index}`);

/** How many transactions wrote bills of the ledger. */
async function writers({ ledger }: HeldLedger): Promise<number> {
  const { rows } = await tables.db.execute<{ writers: number }>(sql`
    select count(distinct xmin::text)::int as writers
    from bills
    where account = ${ledger.account}`);
  return rows[0]?.writers ?? Number.NaN;
}

test("pages that wait for their turn are committed in one transaction, each counted by itself", async () => {
  const held = await planned();
  const rejected = [
    { received: "x", text: '"x"', fault: { path: "", reason: "is not an object" } },
  ];
  const end = provenWhole(windowOf(2));
  const results = await commitAsGroup(
    held,
    onePageAWindow(held, [{ rejected }, { next: end, bills: [] }]),
  );
  expect(countsOf(results)).toEqual([
    { ...twoNew, rejected: 1 },
    { ...twoNew, new: 0 },
    twoNew,
    twoNew,
    twoNew,
  ]);
  expect(await writers(held)).toBe(1);
  expect(await timesOf(tables.db, held.ledger)).toEqual(
    moved.with(1, "10-20 open c1").with(2, "20-30 covered"),
  );
});

test("a page that fails in a group fails alone, and the others are stored once", async () => {
  const held = await planned();
  const results = await commitAsGroup(
    held,
    onePageAWindow(held, [{}, {}, { window: minutes(31, 40) }]),
  );
  expect(countsOf(results)).toEqual([twoNew, twoNew, "failed", twoNew, twoNew]);
  expect(results[2]).toMatchObject({
    reason: { message: expect.stringMatching("lost confirmed commits") },
  });
  expect(await timesOf(tables.db, held.ledger)).toEqual(moved.with(3, "30-40 open"));
  const ids = (await readStoredBills(tables.db, held.ledger)).map(({ billId }) => billId);
  expect(ids).toEqual([0, 1, 2, 3, 6, 7, 8, 9].map((index) => bills(20)[index]?.billId));
});

type Query = (config: { readonly text: string }, values: unknown[]) => Promise<unknown>;

/** The database, with this way of sending statements. */
function sending(by: (send: Query) => Query): Database {
  const spoil = (client: PoolClient): PoolClient =>
    new Proxy(client, {
      get: (target, name) =>
        name === "query"
          ? by((config, values) => target.query(config, values))
          : Reflect.get(target, name, target),
    });
  const connect = async () => spoil(await tables.db.$client.connect());
  return Object.create(tables.db, { $client: { value: { connect } } });
}

/**
 * The database. With the first statement that matches, either the statement or its answer is lost with the
 * connection.
 */
function losing(what: "the statement" | "its answer", like: RegExp, skipped = 0): Database {
  let left = skipped;
  let isLost = false;
  return sending((send) => async (config, values) => {
    if (isLost || !like.test(config.text) || left-- > 0) return send(config, values);
    isLost = true;
    if (what === "its answer") await send(config, values);
    throw new Error("Connection terminated unexpectedly");
  });
}

test.each([
  ["bills", /^insert into "bills"/, 0],
  ["cursors", /update windows/, 1],
])(
  "a group whose connection is lost at its %s is stored page by page, each once",
  async (_, like, skipped) => {
    const held = await planned();
    const db = losing("the statement", like, skipped);
    const results = await commitAsGroup(held, onePageAWindow(held), db);
    expect(countsOf(results)).toEqual(Array(5).fill(twoNew));
    expect(await writers(held)).toBe(5);
    expect(await timesOf(tables.db, held.ledger)).toEqual(moved);
  },
);

test("a group that the server does not answer is not tried page by page: each would wait as long", async () => {
  const held = await planned();
  let tries = 0;
  const silent = sending((send) => async (config, values) => {
    if (!config.text.startsWith('insert into "bills"')) return send(config, values);
    tries += 1;
    throw new Error("Query read timeout");
  });
  const results = await commitAsGroup(held, onePageAWindow(held), silent);
  expect(countsOf(results)).toEqual(Array(5).fill("failed"));
  expect(tries).toBe(1);
});

test("a group whose commit was not answered is not committed again: each page fails, counted once", async () => {
  const held = await planned();
  const db = losing("its answer", /^commit/, 1);
  const results = await commitAsGroup(held, onePageAWindow(held), db);
  expect(countsOf(results)).toEqual(Array(5).fill("failed"));
  expect(await timesOf(tables.db, held.ledger)).toEqual(moved);
});

test("after a commit without an answer a run stores nothing more: the server may still be at work on it", async () => {
  const held = await planned();
  const { ledger } = held;
  const db = losing("its answer", /^commit/);
  const store = openStore(db, { account: ledger.account, epoch: 1 });
  for (const page of onePageAWindow(held).slice(0, 2)) {
    await expect(store.commitPage(page)).rejects.toThrow(DatabaseError);
  }
  expect(await readStoredBills(tables.db, ledger)).toHaveLength(2);
});

test("a group whose connection breaks after COMMIT was sent is not tried again: it may be stored", async () => {
  const held = await planned();
  const db = losing("its answer", /^insert into "bills"/);
  const results = await commitAsGroup(held, onePageAWindow(held), db);
  expect(countsOf(results)).toEqual(Array(5).fill("failed"));
  expect(await writers(held)).toBe(1);
  expect(await timesOf(tables.db, held.ledger)).toEqual(moved);
});

test("a group of a run that lost its account stores nothing, and every page says so", async () => {
  const held = await planned();
  const { ledger } = held;
  const store = openStore(tables.db, { account: ledger.account, epoch: 2 });
  const pages = onePageAWindow(held).map((page) => store.commitPage(page));
  for (const result of await Promise.allSettled(pages)) {
    expect(result).toMatchObject({ reason: expect.any(LeaseLostError) });
  }
  expect(await readStoredBills(tables.db, ledger)).toEqual([]);
});

test("a bill that two pages of a group hold is stored once, and the later content wins", async () => {
  const held = await planned();
  const [bill] = bills(1);
  if (bill === undefined) throw new Error("there is no bill");
  const contents: readonly Partial<Bill>[] = [{}, {}, { amount: "7" }, { amount: "8" }, {}];
  const results = await commitAsGroup(
    held,
    onePageAWindow(
      held,
      contents.map((but) => ({ bills: [{ ...bill, ...but }] })),
    ),
  );
  const one = { new: 0, unchanged: 0, restated: 0, rejected: 0 };
  expect(countsOf(results)).toEqual([
    { ...one, new: 1 },
    { ...one, unchanged: 1 },
    { ...one, restated: 1 },
    { ...one, restated: 1 },
    { ...one, restated: 1 },
  ]);
  expect(await readStoredBills(tables.db, held.ledger)).toMatchObject([{ amount: bill.amount }]);
});

test("bills beside, between and among those of a page are told apart from new ones", async () => {
  const held = await planned();
  const all = bills(9);
  const at = (...places: readonly number[]) => places.flatMap((place) => all[place] ?? []);
  let after: string | undefined;
  const commit = (...places: readonly number[]) => {
    const but = { bills: at(...places), after };
    after = `c${places.join()}`;
    return held.store.commitPage(aPage(held.ledger, windowOf(0), { cursor: after }, but));
  };
  expect(await commit(4)).toMatchObject({ new: 1, unchanged: 0 });
  expect(await commit(1, 2, 3)).toMatchObject({ new: 3, unchanged: 0 });
  expect(await commit(7, 6, 5)).toMatchObject({ new: 3, unchanged: 0 });
  expect(await commit(0, 1, 8)).toMatchObject({ new: 2, unchanged: 1 });
  expect(await commit(0, 8)).toMatchObject({ new: 0, unchanged: 2 });
  expect(await readStoredBills(tables.db, held.ledger)).toHaveLength(9);
});

test("ids that Postgres and this program sort differently are stored, whichever comes first", async () => {
  const held = await planned();
  // In UTF-16 the second is the smaller one, in UTF-8 the first.
  const ids = ["\uffee", "\u{1f600}"];
  let after: string | undefined;
  const page = (named: readonly string[]) => {
    const but = { bills: named.map((billId) => ({ ...bills(1)[0], billId }) as Bill), after };
    after = named.join();
    return held.store.commitPage(aPage(held.ledger, windowOf(0), { cursor: after }, but));
  };
  expect(await page(ids.slice(1))).toMatchObject({ new: 1 });
  expect(await page(ids)).toMatchObject({ new: 1, unchanged: 1 });
  expect(await page(ids)).toMatchObject({ new: 0, unchanged: 2 });
});
