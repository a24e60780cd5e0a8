// Holds: Honest coverage, Nothing dropped, Atomic pages
// A table that an administrator has locked.

import { sql } from "drizzle-orm";
import { escapeIdentifier } from "pg";
import { describe, expect, test } from "vitest";
import type { Bill } from "../src/core/contract/bill.ts";
import {
  type Database,
  openDatabase,
  type TransactionOptions,
} from "../src/core/postgres/connect.ts";
import { readStoredBills } from "../src/core/store/bill-rows.ts";
import { openStore } from "../src/core/store/ledger-store.ts";
import { openVerifyStore } from "../src/core/store/verify-store.ts";
import type { Ledger } from "../src/core/words/ledger.ts";
import type { PageCommit, PageCounts, RejectedRow, WalkEnd } from "../src/core/words/page.ts";
import { DatabaseError, DatabaseSilentError, LeaseLostError } from "../src/lib/errors.ts";
import { epochMs, minuteMs } from "../src/lib/time.ts";
import { aBill, bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import { accountTables } from "./support/divided-tables.ts";
import {
  aPage,
  type HeldLedger,
  holdLedger,
  type Loss,
  losing,
  minutes,
  origin,
  plan,
  provenWhole,
  timesOf,
  untilBlocked,
} from "./support/held-store.ts";

const tables = await fileDatabase();
let held: HeldLedger;
let ledger: Ledger;

/** A ledger of its own for each test, with these planned windows. */
async function planned(...windows: readonly (readonly [number, number])[]): Promise<HeldLedger> {
  held = await holdLedger(tables.db);
  ledger = held.ledger;
  await plan(
    held,
    windows.map(([from, to]) => minutes(from, to)),
  );
  return held;
}

const commit = (
  from: number,
  to: number,
  next: PageCommit["next"],
  but: Partial<PageCommit> = {},
) => held.store.commitPage(aPage(ledger, minutes(from, to), next, but));

const finish = (from: number, to: number) => commit(from, to, provenWhole(minutes(from, to)));

const rows = () => timesOf(tables.db, ledger);

const rejected = (received: unknown, path = "amount", reason = "is not a number"): RejectedRow => ({
  received,
  text: JSON.stringify(received),
  fault: { path, reason },
});

describe("a page", () => {
  test("moves its window's cursor on, and counts all its rows", async () => {
    const { store } = await planned([0, 10]);
    const page = { bills: bills(2), rejected: [rejected({ billId: "x" })] };
    const counts = await commit(0, 10, { cursor: "c1" }, page);
    expect(counts).toEqual({ new: 2, unchanged: 0, restated: 0, rejected: 1 });
    await commit(0, 10, { cursor: "c2" }, { cursorBefore: "c1", bills: bills(2) });
    expect((await store.knownTimes([ledger])).of(ledger).open).toEqual([
      { window: minutes(0, 10), cursor: "c2", startedAt: origin },
    ]);
  });

  test("that hands time back leaves its window the rest, and opens windows that were not begun", async () => {
    const { store } = await planned([0, 10], [10, 20]);
    const handedBack = [minutes(0, 3), minutes(3, 6)];
    await commit(0, 10, { cursor: "c1", handedBack }, { bills: bills(2) });
    expect(await rows()).toEqual(["0-3 open", "3-6 open", "6-10 open c1", "10-20 open"]);
    await commit(6, 10, { cursor: "c2" }, { cursorBefore: "c1", bills: bills(1) });
    await finish(3, 6);
    expect(await rows()).toEqual(["0-3 open", "3-6 covered", "6-10 open c2", "10-20 open"]);
    expect((await store.knownTimes([ledger])).of(ledger).open[0]).toEqual({
      window: minutes(0, 3),
    });
  });

  test.each<[string, WalkEnd, readonly string[]]>([
    ["all of its time", { proven: [minutes(0, 10)], lost: [] }, ["0-10 covered", "10-20 open"]],
    ["its settled time", { proven: [minutes(0, 7)], lost: [] }, ["0-7 covered", "10-20 open"]],
    [
      "a loss and the rest",
      { proven: [minutes(3, 10)], lost: [minutes(0, 3)] },
      ["0-3 lost", "3-10 covered", "10-20 open"],
    ],
    ["a loss", { proven: [], lost: [minutes(0, 10)] }, ["0-10 lost", "10-20 open"]],
    ["nothing yet", { proven: [], lost: [] }, ["10-20 open"]],
  ])("that ends a window puts in its place what it proved: %s", async (_, end, expected) => {
    await planned([0, 10], [10, 20]);
    await commit(0, 10, { cursor: "c1" }, { bills: bills(2) });
    await commit(0, 10, { end }, { cursorBefore: "c1", bills: bills(1) });
    expect(await rows()).toEqual(expected);
    const known = (await held.store.knownTimes([ledger])).of(ledger);
    expect(known).toMatchObject({ coverage: end.proven, lost: end.lost });
  });

  test.each<[string, PageCommit["next"]]>([
    ["goes on", { cursor: "c1" }],
    ["ends", provenWhole(minutes(5, 10))],
  ])("of a window that the database does not know stores nothing, where it %s", async (_, next) => {
    await planned([0, 10]);
    const page = commit(5, 10, next, { bills: bills(1), rejected: [rejected({ billId: "x" })] });
    await expect(page).rejects.toThrow(
      /^the database lost confirmed commits of \S+ \S+T12:39:56\.789Z to /,
    );
    expect(await rows()).toEqual(["0-10 open"]);
    expect(await readStoredBills(tables.db, ledger)).toEqual([]);
    const { rows: kept } = await tables.db.execute(sql`
      select 1 from rejected_bills where account = ${ledger.account}`);
    expect(kept).toEqual([]);
  });

  test.each<[string, string | undefined, PageCommit["next"]]>([
    ["of an older page", "c1", { cursor: "c2" }],
    ["of an older page, as the last", "c1", { end: { proven: [], lost: [] } }],
    ["of a page that was lost", "c3", { cursor: "c4" }],
    ["of a page that was lost, as the last", "c3", provenWhole(minutes(0, 10))],
    ["of none, as the newest", undefined, { cursor: "c1" }],
  ])(
    "that was asked for by the cursor %s, is refused and stores nothing",
    async (_, cursorBefore, next) => {
      await planned([0, 10]);
      await commit(0, 10, { cursor: "c1" });
      await commit(0, 10, { cursor: "c2" }, { cursorBefore: "c1" });
      const page = commit(0, 10, next, { cursorBefore, bills: bills(1) });
      await expect(page).rejects.toThrow(/lost confirmed commits/);
      expect(await rows()).toEqual(["0-10 open c2"]);
      expect(await readStoredBills(tables.db, ledger)).toEqual([]);
    },
  );

  test("waits for its turn without a connection, so that a renewal gets one", async () => {
    await planned([0, 10]);
    const blocker = await tables.db.$client.connect();
    try {
      await blocker.query("begin");
      await blocker.query("select 1 from leases where account = $1 for update", [ledger.account]);
      const pages = Array.from({ length: 16 }, (_, page) =>
        commit(
          0,
          10,
          { cursor: `c${page + 1}` },
          { cursorBefore: page === 0 ? undefined : `c${page}` },
        ),
      );
      await untilBlocked(tables.db);
      await blocker.query("commit");
      await Promise.all(pages);
    } finally {
      blocker.release(true);
    }
    expect(await rows()).toEqual(["0-10 open c16"]);
  });
});

describe("a rejected row", () => {
  const storedRejected = async () => {
    const { rows: found } = await tables.db.execute(sql`
      select digest, received, path, reason, closed_at
      from rejected_bills
      where account = ${ledger.account}
      order by rejected_at, digest`);
    return found;
  };

  test("is kept once however often it is served, and counted each time", async () => {
    await planned([0, 10]);
    const same = [rejected("x"), rejected("x"), rejected("y")];
    const counts = await commit(0, 10, { cursor: "c1" }, { rejected: same });
    const other = { cursorBefore: "c1", rejected: [rejected("x", "", "other")] };
    const again = await commit(0, 10, { cursor: "c2" }, other);
    expect([counts.rejected, again.rejected]).toEqual([3, 1]);
    const found = (await storedRejected()).map(({ received, reason }) => [received, reason]);
    expect(found.sort()).toEqual([
      ['"x"', "is not a number"],
      ['"y"', "is not a number"],
    ]);
  });
});

describe("a plan", () => {
  test("keeps the windows that it resumes, replaces the others and records what is lost", async () => {
    const { store } = await planned([0, 10], [10, 20], [20, 30]);
    await commit(0, 10, { cursor: "c1" }, { bills: bills(2) });
    await commit(10, 20, { cursor: "c2" });
    await finish(20, 30);
    await store.recordPlans([
      {
        ledger,
        plannedAt: origin,
        windows: [
          { window: minutes(0, 10), cursor: "c1", startedAt: origin },
          { window: minutes(10, 15) },
          { window: minutes(15, 20) },
        ],
        lost: [minutes(-20, -10)],
      },
    ]);
    expect(await rows()).toEqual([
      "-20--10 lost",
      "0-10 open c1",
      "10-15 open",
      "15-20 open",
      "20-30 covered",
    ]);
  });
});

test("odd settings of the server's sessions change no text, no time and no lock", async () => {
  const odd = [
    "timezone=Asia/Kathmandu",
    "datestyle=SQL,DMY",
    "intervalstyle=sql_standard",
    "standard_conforming_strings=off",
    "default_transaction_isolation=serializable",
    "extra_float_digits=-15",
    "array_nulls=off",
  ];
  const url = new URL(tables.url);
  url.searchParams.set("options", odd.map((setting) => `-c ${setting}`).join(" "));
  await using oddly = openDatabase(url.href);
  const { store, ledger: own } = await holdLedger(oddly.db);
  const window = { from: epochMs(origin + 1), to: epochMs(origin + minuteMs + 2) };
  await plan({ store, ledger: own }, [window]);
  const odds = [aBill({ symbol: "a\\nb'\\", cTime: epochMs(origin + 3) })];
  const blocker = await tables.db.$client.connect();
  await blocker.query("begin");
  const ofOwn = "where account = $1";
  await blocker.query(`select 1 from leases ${ofOwn} for update`, [own.account]);
  await blocker.query(`update leases set expires_at = expires_at ${ofOwn}`, [own.account]);
  const page = store.commitPage(aPage(own, window, provenWhole(window), { bills: odds }));
  await untilBlocked(tables.db);
  await blocker.query("commit");
  blocker.release();
  expect(await page).toMatchObject({ new: 1 });
  expect((await store.knownTimes([own])).of(own).coverage).toEqual([window]);
  expect(await readStoredBills(oddly.db, own)).toMatchObject([
    { symbol: "a\\nb'\\", feeByCoupon: null, positionType: null, cTimeMs: String(origin + 3) },
  ]);
});

describe("whichever statement is lost", () => {
  /** All that is stored of an account, including times and headers. */
  async function contents({ account }: Ledger): Promise<readonly string[]> {
    const parts = accountTables.map(
      (table) => sql`
      select ${table} as "table", stored::text as "row"
      from ${sql.identifier(table)} as stored
      where account = ${account}`,
    );
    const types = sql`select 'business_types', code from business_types where code = ${account}`;
    const { rows } = await tables.db.execute(sql.join([...parts, types], sql` union all `));
    return rows.map((row) => JSON.stringify(row)).sort();
  }

  const window = minutes(0, 10);

  const fault = { path: "", reason: "is not an object" };

  /**
   * The next page restates the bills. One of them is served broken, too, and is superseded by the good row.
   */
  const firstRows = {
    bills: bills(2),
    rejected: bills(1).map(({ billId }) => ({
      received: { billId },
      text: JSON.stringify({ billId }),
      fault,
    })),
  };

  const aFullPage = (ledger: Ledger, next: PageCommit["next"]): PageCommit =>
    aPage(ledger, window, next, {
      cursorBefore: "c1",
      bills: bills(3, { amount: "0.5", businessType: ledger.account }),
      rejected: [{ received: "x", text: '"x"', fault }],
    });

  const nexts: readonly (readonly [string, PageCommit["next"]])[] = [
    ["goes on", { cursor: "c2" }],
    ["hands time back", { cursor: "c2", handedBack: [minutes(0, 2), minutes(2, 4)] }],
    ["ends its window", { end: { proven: [minutes(4, 10)], lost: [minutes(0, 4)] } }],
  ];
  const cases = nexts.flatMap(([name, next]) =>
    (["the statement", "its answer"] as const).map((loss) => [name, loss, next] as const),
  );

  /** Commits a page that writes every table, with one loss. */
  async function commitLosing(next: PageCommit["next"], loss: Loss, atStatement: number) {
    const held = await holdLedger(tables.db);
    const { ledger } = held;
    await plan(held, [window]);
    await held.store.commitPage(aPage(ledger, window, { cursor: "c1" }, firstRows));
    const before = await contents(ledger);
    const { db, statements } = losing(tables.db, loss, (_, place) => place === atStatement);
    const store = openStore(db, { account: ledger.account, epoch: 1 });
    const result = await store.commitPage(aFullPage(ledger, next)).catch((error: unknown) => error);
    return { before, after: await contents(ledger), statements, result };
  }

  const tablesOf = (rows: readonly string[]) => rows.map((row) => JSON.parse(row).table);

  test.each(cases)(
    "a page that %s is stored wholly or not at all, whichever statement loses %s",
    async (_, loss, next) => {
      const { statements, ...whole } = await commitLosing(next, loss, Number.POSITIVE_INFINITY);
      expect(whole.result).toMatchObject({ new: 1, restated: 2, rejected: 1 });
      const firstWrite = statements.findIndex((statement) =>
        /^(insert|update|delete)/.test(statement),
      );
      expect(firstWrite).toBeGreaterThan(3);
      for (const [index, statement] of statements.entries()) {
        const { before, after, result } = await commitLosing(next, loss, index + 1);
        expect(result).toBeInstanceOf(DatabaseError);
        // COMMIT is sent before the writes are answered.
        if (loss === "its answer" && index >= firstWrite) {
          expect(tablesOf(after), statement).toEqual(tablesOf(whole.after));
        } else expect(after, statement).toEqual(before);
      }
    },
  );

  test("a page is not stored at all where a trigger drops a bill, and the error says how many", async () => {
    const held = await holdLedger(tables.db);
    const { ledger, store } = held;
    await plan(held, [window]);
    const before = await contents(ledger);
    await tables.db.execute(`
    create function drop_row() returns trigger language plpgsql as
      'begin return case when new.bill_id like ''%1'' then null else new end; end';
    create trigger drops before insert on bills for each row execute function drop_row()`);
    try {
      const page = aPage(ledger, window, { cursor: "c1" }, { bills: bills(10) });
      await expect(store.commitPage(page)).rejects.toThrow(
        /stored 9 of 10 bills .* a trigger or rule on table bills drops rows; remove it/,
      );
      expect(await contents(ledger)).toEqual(before);
    } finally {
      await tables.db.execute("drop trigger drops on bills");
    }
  });
});

describe("pages that wait for their turn", () => {
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
      await untilBlocked(tables.db);
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
  const moved = [0, 1, 2, 3, 4, 5].map(
    (index) => `${index * 10}-${index * 10 + 10} open c${index}`,
  );

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
    const results = await commitAsGroup(
      held,
      onePageAWindow(held, [{ rejected }, { next: provenWhole(windowOf(2)), bills: [] }]),
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

  /** The database, which loses the first statement that is like this, or the one after so many. */
  function losingLike(what: Loss, like: RegExp, skipped = 0): Database {
    let seen = 0;
    return losing(tables.db, what, (text) => like.test(text) && seen++ === skipped).db;
  }

  test.each([
    ["bills", /^insert into bills /, 0],
    ["cursors", /update windows/, 1],
  ])(
    "a group whose connection is lost at its %s is stored page by page, each once",
    async (_, like, skipped) => {
      const held = await planned();
      const db = losingLike("the statement", like, skipped);
      const results = await commitAsGroup(held, onePageAWindow(held), db);
      expect(countsOf(results)).toEqual(Array(5).fill(twoNew));
      expect(await writers(held)).toBe(5);
      expect(await timesOf(tables.db, held.ledger)).toEqual(moved);
    },
  );

  test("a group whose commit was not answered is not committed again: each page fails, counted once", async () => {
    const held = await planned();
    const db = losingLike("its answer", /^commit/, 1);
    const results = await commitAsGroup(held, onePageAWindow(held), db);
    expect(countsOf(results)).toEqual(Array(5).fill("failed"));
    expect(await timesOf(tables.db, held.ledger)).toEqual(moved);
  });

  test("after a commit without an answer a run stores nothing more: the server may still be at work on it", async () => {
    const held = await planned();
    const { ledger } = held;
    const store = openStore(losingLike("its answer", /^commit/), {
      account: ledger.account,
      epoch: 1,
    });
    for (const page of onePageAWindow(held).slice(0, 2))
      await expect(store.commitPage(page)).rejects.toThrow(DatabaseError);
    expect(await readStoredBills(tables.db, ledger)).toHaveLength(2);
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
});

describe("a table that an administrator has locked", () => {
  /** A session that holds a lock on the table. */
  async function lockTable(name: string) {
    const admin = openDatabase(tables.url);
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

  const isHeldUp =
    /lock timeout, 55P03\): another session holds a lock; find it by pg_blocking_pids/;

  test("a locked table is waited for once for all pages of an account", async () => {
    const one = await pagesOf(40, { lockMaxMs: 1_500 });
    {
      await using _ = await lockTable("bills");
      const errors = new Set(
        (await one.commit()).map((result) => result.status === "rejected" && result.reason),
      );
      // All pages fail with one error, so no page waited on its own.
      expect(errors.size).toBe(1);
      const [error] = errors;
      expect(error).toBeInstanceOf(DatabaseSilentError);
      expect(error.message).toMatch(isHeldUp);
      await expect(one.store.knownTimes([one.ledger])).rejects.toBe(error);
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
      (held) => storeOf(held).knownTimes([held.ledger]),
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

  test("a repair of a verification that has lost the account writes nothing", async () => {
    const { ledger } = await holdLedger(tables.db);
    const store = openVerifyStore(tables.db, { account: ledger.account, epoch: 2 });
    await expect(store.repair(ledger, rows)).rejects.toThrow(LeaseLostError);
    expect(await readStoredBills(tables.db, ledger)).toEqual([]);
  });
});
