// Holds: Honest coverage, Nothing dropped

import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { parseExactJson } from "../src/contract/json.ts";
import { epochMs, minuteMs } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { CommitsLostError } from "../src/errors.ts";
import { readStoredBills } from "../src/ledger/bill-rows.ts";
import type { Ledger, PageCommit, RejectedRow, WalkEnd } from "../src/sync/store.ts";
import { aBill, bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import {
  aPage,
  type HeldLedger,
  holdLedger,
  minutes,
  origin,
  plan,
  provenWhole,
  timesOf,
  untilBlocked,
} from "./support/held-store.ts";

const { database, tables } = await fileDatabase();
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
  test("moves its window's cursor on, and counts itself and all its rows", async () => {
    const { store } = await planned([0, 10]);
    const page = { bills: bills(2), rejected: [rejected({ billId: "x" })] };
    expect(await commit(0, 10, { cursor: "c1" }, page)).toEqual({
      new: 2,
      unchanged: 0,
      restated: 0,
      rejected: 1,
    });
    await commit(0, 10, { cursor: "c2" }, { after: "c1", bills: bills(2) });
    expect(await rows()).toEqual(["0-10 open c2"]);
    expect(await store.knownTime(ledger)).toEqual({
      coverage: [],
      lost: [],
      recovered: [],
      open: [{ window: minutes(0, 10), cursor: "c2", startedAt: origin }],
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
    await commit(0, 10, { end }, { after: "c1", bills: bills(1) });
    expect(await rows()).toEqual(expected);
    const known = await held.store.knownTime(ledger);
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
    async (_, after, next) => {
      await planned([0, 10]);
      await commit(0, 10, { cursor: "c1" });
      await commit(0, 10, { cursor: "c2" }, { after: "c1" });
      const page = commit(0, 10, next, { after, bills: bills(1) });
      await expect(page).rejects.toThrow(CommitsLostError);
      expect(await rows()).toEqual(["0-10 open c2"]);
      expect(await readStoredBills(tables.db, ledger)).toEqual([]);
    },
  );

  test("that comes after its window's end is refused, and leaves the coverage", async () => {
    await planned([0, 10]);
    await finish(0, 10);
    await expect(commit(0, 10, { cursor: "c1" })).rejects.toThrow(CommitsLostError);
    expect(await rows()).toEqual(["0-10 covered"]);
  });

  test("waits for its turn without a connection, so that a renewal gets one", async () => {
    await planned([0, 10]);
    const blocker = await tables.db.$client.connect();
    try {
      await blocker.query("begin");
      await blocker.query("select 1 from leases where account = $1 for update", [ledger.account]);
      const pages = Array.from({ length: 16 }, (_, page) =>
        commit(0, 10, { cursor: `c${page + 1}` }, { after: page === 0 ? undefined : `c${page}` }),
      );
      await untilBlocked(tables.db, 1);
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
      select digest, received, fault_path, fault, closed_at
      from rejected_bills
      where account = ${ledger.account}
      order by rejected_at, digest`);
    return found;
  };

  test("is kept letter for letter, with its fault", async () => {
    await planned([0, 10]);
    const text =
      '{"billId":1098396773329305606,"amount":1.00,"nul":"a\\\\u0000b","\\"quote":"\\\\"}';
    await commit(
      0,
      10,
      { cursor: "c1" },
      { rejected: [rejected(parseExactJson(text), "nul", "a,b\\'")] },
    );
    expect(await storedRejected()).toEqual([
      {
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        received: text,
        fault_path: "nul",
        fault: "a,b\\'",
        closed_at: null,
      },
    ]);
  });

  test("is kept once however often it is served, and counted each time", async () => {
    await planned([0, 10]);
    const same = [rejected("x"), rejected("x"), rejected("y")];
    const counts = await commit(0, 10, { cursor: "c1" }, { rejected: same });
    const other = { after: "c1", rejected: [rejected("x", "", "other")] };
    const again = await commit(0, 10, { cursor: "c2" }, other);
    expect([counts.rejected, again.rejected]).toEqual([3, 1]);
    const found = (await storedRejected()).map(({ received, fault }) => [received, fault]);
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
    await store.recordPlan({
      ledger,
      plannedAt: origin,
      walks: [
        { window: minutes(0, 10), cursor: "c1", startedAt: origin },
        { window: minutes(10, 15) },
        { window: minutes(15, 20) },
      ],
      lost: [minutes(-20, -10)],
    });
    expect(await rows()).toEqual([
      "-20--10 lost",
      "0-10 open c1",
      "10-15 open",
      "15-20 open",
      "20-30 covered",
    ]);
  });
});

test("a page without a cursor to go on by leaves its bills, and a window to be walked anew", async () => {
  const { store } = await planned([0, 10], [10, 20]);
  await commit(0, 10, { cursor: "c1" });
  await commit(10, 20, { cursor: "c2" });
  await commit(0, 10, { cursor: undefined }, { after: "c1", bills: [aBill()] });
  expect(await rows()).toEqual(["0-10 open", "10-20 open c2"]);
  expect((await store.knownTime(ledger)).open[0]).not.toHaveProperty("cursor");
  expect(await readStoredBills(tables.db, ledger)).toHaveLength(1);
});

test("odd settings of the server's sessions change no time and no lock", async () => {
  const odd = [
    "timezone=Asia/Kathmandu",
    "datestyle=SQL,DMY",
    "intervalstyle=sql_standard",
    "standard_conforming_strings=off",
    "default_transaction_isolation=serializable",
    "extra_float_digits=-15",
  ];
  const url = new URL(database.url);
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
  await untilBlocked(tables.db, 1);
  await blocker.query("commit");
  blocker.release();
  expect(await page).toMatchObject({ new: 1 });
  expect((await store.knownTime(own)).coverage).toEqual([window]);
  expect(await readStoredBills(oddly.db, own)).toMatchObject([
    { symbol: "a\\nb'\\", cTimeMs: String(origin + 3) },
  ]);
});
