import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { billsApiOf } from "../src/contract/bills-api.ts";
import { parseExactJson } from "../src/contract/json.ts";
import { dayMs, epochMs, hourMs, minuteMs } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import { CommitsLostError } from "../src/errors.ts";
import { readStoredBills } from "../src/ledger/bill-rows.ts";
import type { PageCommit, RejectedRow, Stream, WalkEnd } from "../src/sync/store.ts";
import { aBill, bills } from "./support/bills.ts";
import { fileDatabase } from "./support/database.ts";
import {
  aPage,
  checkpoints,
  type HeldStream,
  holdStream,
  minutes,
  origin,
  plan,
  provenWhole,
  untilBlocked,
} from "./support/held-store.ts";

const { windowMaxMs } = billsApiOf("USDT-FUTURES");

const { database, tables } = await fileDatabase();
let held: HeldStream;
let stream: Stream;

/** A stream of its own for each test, with these planned windows. */
async function planned(...windows: readonly (readonly [number, number])[]): Promise<HeldStream> {
  held = await holdStream(tables.db);
  stream = held.stream;
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
) => held.store.commitPage(aPage(stream, minutes(from, to), next, but));

const finish = (from: number, to: number) => commit(from, to, provenWhole(minutes(from, to)));

const rows = () => checkpoints(tables.db, stream);

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
    expect(await rows()).toEqual(["0-10 open c2 2p 5b"]);
    expect(await store.knownTime(stream)).toEqual({
      coverage: [],
      expired: [],
      open: [{ window: minutes(0, 10), cursor: "c2", startedAt: origin }],
    });
  });

  test.each<[string, WalkEnd, readonly string[]]>([
    [
      "all of its time",
      { proven: [minutes(0, 10)], expired: [] },
      ["0-10 complete 2p 3b", "10-20 open 0p 0b"],
    ],
    [
      "its settled time",
      { proven: [minutes(0, 7)], expired: [] },
      ["0-7 complete 2p 3b", "10-20 open 0p 0b"],
    ],
    [
      "a loss and the rest",
      { proven: [minutes(3, 10)], expired: [minutes(0, 3)] },
      ["0-3 expired 0p 0b", "3-10 complete 2p 3b", "10-20 open 0p 0b"],
    ],
    [
      "a loss",
      { proven: [], expired: [minutes(0, 10)] },
      ["0-10 expired 0p 0b", "10-20 open 0p 0b"],
    ],
    ["nothing yet", { proven: [], expired: [] }, ["10-20 open 0p 0b"]],
  ])("that ends a window puts in its place what it proved: %s", async (_, end, expected) => {
    await planned([0, 10], [10, 20]);
    await commit(0, 10, { cursor: "c1" }, { bills: bills(2) });
    await commit(0, 10, { end }, { after: "c1", bills: bills(1) });
    expect(await rows()).toEqual(expected);
    const known = await held.store.knownTime(stream);
    expect(known).toMatchObject({ coverage: end.proven, expired: end.expired });
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
    expect(await rows()).toEqual(["0-10 open 0p 0b"]);
    expect(await readStoredBills(tables.db, stream)).toEqual([]);
    const { rows: kept } = await tables.db.execute(sql`
      select 1 from rejected_bills where account = ${stream.account}`);
    expect(kept).toEqual([]);
  });

  test.each<[string, string | undefined, PageCommit["next"]]>([
    ["of an older page", "c1", { cursor: "c2" }],
    ["of an older page, as the last", "c1", { end: { proven: [], expired: [] } }],
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
      expect(await rows()).toEqual(["0-10 open c2 2p 0b"]);
      expect(await readStoredBills(tables.db, stream)).toEqual([]);
    },
  );

  test("that comes after its window's end is refused, and leaves the coverage", async () => {
    await planned([0, 10]);
    await finish(0, 10);
    await expect(commit(0, 10, { cursor: "c1" })).rejects.toThrow(CommitsLostError);
    expect(await rows()).toEqual(["0-10 complete 1p 0b"]);
  });

  test("of a window that was divided goes on in its newest part, and the older ones begin anew", async () => {
    const { store } = await planned([0, 10], [10, 20]);
    await commit(0, 10, { cursor: "c1" }, { bills: bills(2) });
    await store.divideWindow(stream, minutes(0, 10), [minutes(3, 6).from, minutes(3, 6).to]);
    expect(await rows()).toEqual([
      "0-3 open 0p 0b",
      "3-6 open 0p 0b",
      "6-10 open c1 1p 2b",
      "10-20 open 0p 0b",
    ]);
    await commit(6, 10, { cursor: "c2" }, { after: "c1" });
    expect((await store.knownTime(stream)).open).toMatchObject([
      { window: minutes(0, 3) },
      { window: minutes(3, 6) },
      { window: minutes(6, 10), cursor: "c2", startedAt: origin },
      { window: minutes(10, 20) },
    ]);
  });

  test("whose window is not open cannot be divided, and nothing changes", async () => {
    const { store } = await planned([0, 10]);
    const divide = (from: number, to: number) =>
      store.divideWindow(stream, minutes(from, to), [minutes(3, 6).from]);
    await expect(divide(0, 9)).rejects.toThrow("lost confirmed commits");
    await finish(0, 10);
    await expect(divide(0, 10)).rejects.toThrow("lost confirmed commits");
    expect(await rows()).toEqual(["0-10 complete 1p 0b"]);
  });

  test("waits for its turn without a connection, so that a renewal gets one", async () => {
    await planned([0, 10]);
    const blocker = await tables.db.$client.connect();
    try {
      await blocker.query("begin");
      await blocker.query("select 1 from leases where account = $1 for update", [stream.account]);
      const pages = Array.from({ length: 16 }, (_, page) =>
        commit(0, 10, { cursor: `c${page + 1}` }, { after: page === 0 ? undefined : `c${page}` }),
      );
      await untilBlocked(tables.db, 1);
      await blocker.query("commit");
      await Promise.all(pages);
    } finally {
      blocker.release(true);
    }
    expect(await rows()).toEqual(["0-10 open c16 16p 0b"]);
  });
});

describe("a rejected row", () => {
  const storedRejected = async () => {
    const { rows: found } = await tables.db.execute(sql`
      select digest, received, fault_path, fault, run_id, resolved_at
      from rejected_bills
      where account = ${stream.account}
      order by rejected_at, digest`);
    return found;
  };

  test("is kept letter for letter, with its fault and the run that met it", async () => {
    const { runId } = await planned([0, 10]);
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
        run_id: runId,
        resolved_at: null,
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

  test("is not counted any more once it is resolved", async () => {
    await planned([0, 10]);
    const page = { rejected: [rejected("x"), rejected("y")] };
    await commit(0, 10, { cursor: "c1" }, page);
    await tables.db.execute(sql`
      update rejected_bills set resolved_at = clock_timestamp()
      where account = ${stream.account} and received = '"x"'`);
    const counts = await commit(0, 10, { cursor: "c2" }, { after: "c1", ...page });
    expect(counts.rejected).toBe(1);
    expect(await storedRejected()).toHaveLength(2);
  });
});

describe("a plan", () => {
  test("keeps the windows that it resumes, replaces the others and records what expired", async () => {
    const { store } = await planned([0, 10], [10, 20], [20, 30]);
    await commit(0, 10, { cursor: "c1" }, { bills: bills(2) });
    await commit(10, 20, { cursor: "c2" });
    await finish(20, 30);
    await store.recordPlan({
      stream,
      walks: [
        { window: minutes(0, 10), cursor: "c1", startedAt: origin },
        { window: minutes(10, 15) },
        { window: minutes(15, 20) },
      ],
      expired: [minutes(-20, -10)],
    });
    expect(await rows()).toEqual([
      "-20--10 expired 0p 0b",
      "0-10 open c1 1p 2b",
      "10-15 open 0p 0b",
      "15-20 open 0p 0b",
      "20-30 complete 1p 0b",
    ]);
  });

  test("leaves the other streams of the account alone", async () => {
    const { store } = await planned([0, 10]);
    const other = { ...stream, productType: "COIN-FUTURES" } as const;
    await store.recordPlan({ stream: other, walks: [{ window: minutes(0, 5) }], expired: [] });
    await store.recordPlan({ stream: other, walks: [], expired: [] });
    expect(await rows()).toEqual(["0-10 open 0p 0b"]);
    expect(await checkpoints(tables.db, other)).toEqual([]);
  });

  test("that would cut up coverage is refused by the table", async () => {
    const { store } = await planned([0, 10]);
    await finish(0, 10);
    const again = store.recordPlan({ stream, walks: [{ window: minutes(0, 10) }], expired: [] });
    await expect(again).rejects.toThrow("duplicate key");
    expect(await rows()).toEqual(["0-10 complete 1p 0b"]);
  });
});

test("a page without a cursor to go on by leaves its bills, and a window to be walked anew", async () => {
  const { store } = await planned([0, 10], [10, 20]);
  await commit(0, 10, { cursor: "c1" });
  await commit(10, 20, { cursor: "c2" });
  await commit(0, 10, { cursor: undefined }, { after: "c1", bills: [aBill()] });
  expect(await rows()).toEqual(["0-10 open 2p 1b", "10-20 open c2 1p 0b"]);
  expect((await store.knownTime(stream)).open[0]).not.toHaveProperty("cursor");
  expect(await readStoredBills(tables.db, stream)).toHaveLength(1);
});

describe("the time that is known", () => {
  test("is merged where windows touch or overlap, and apart by state", async () => {
    await planned();
    const insert = (from: number, to: number, state: string) =>
      tables.db.execute(sql`
        insert into checkpoints (
          account, product_type, window_start, window_end, state, run_id, updated_at
        )
        values (
          ${stream.account}, ${stream.productType},
          ${new Date(minutes(from, to).from).toISOString()},
          ${new Date(minutes(from, to).to).toISOString()},
          ${state}, ${held.runId}, now()
        )`);
    for (const [from, to] of [
      [0, 10],
      [10, 20],
      [15, 30],
      [16, 17],
      [40, 50],
    ] as const) {
      await insert(from, to, "complete");
    }
    await insert(-20, -10, "expired");
    await insert(-10, 0, "expired");
    await insert(30, 40, "open");
    expect(await held.store.knownTime(stream)).toEqual({
      coverage: [minutes(0, 30), minutes(40, 50)],
      expired: [minutes(-20, 0)],
      open: [{ window: minutes(30, 40) }],
    });
  });

  test("is that of one account and one product type", async () => {
    await planned([0, 10]);
    await finish(0, 10);
    const nothing = { coverage: [], expired: [], open: [] };
    const other = { ...stream, productType: "COIN-FUTURES" } as const;
    expect(await held.store.knownTime(other)).toEqual(nothing);
    expect(await held.store.knownTime({ ...stream, account: "other" })).toEqual(nothing);
  });
});

describe("checkpoints that touch", () => {
  const settle = async (from: number, to: number, end: WalkEnd) => {
    await plan(held, [minutes(from, to)]);
    await commit(from, to, { end }, { bills: bills(1) });
  };
  const complete = (from: number, to: number) =>
    settle(from, to, { proven: [minutes(from, to)], expired: [] });
  const expire = (from: number, to: number) =>
    settle(from, to, { proven: [], expired: [minutes(from, to)] });

  test("are joined, and their pages and bills added up", async () => {
    await planned();
    await complete(0, 5);
    await complete(5, 10);
    await expire(-20, -15);
    await expire(-15, -10);
    expect(await rows()).toEqual(["-20--10 expired 0p 0b", "0-10 complete 2p 2b"]);
  });

  test("stay apart where their states differ, or where there is time between them", async () => {
    await planned();
    await expire(0, 5);
    await complete(5, 10);
    await complete(11, 15);
    expect(await rows()).toEqual([
      "0-5 expired 0p 0b",
      "5-10 complete 1p 1b",
      "11-15 complete 1p 1b",
    ]);
  });

  test("are joined up to a week, so that syncs every hour leave a row a week", async () => {
    await planned();
    const hours = (3 * 7 * dayMs) / hourMs;
    for (let hour = 0; hour < hours; hour++) await complete(hour * 60, (hour + 1) * 60);
    const known = await held.store.knownTime(stream);
    expect(known.coverage).toEqual([minutes(0, hours * 60)]);
    const found = await rows();
    expect(found).toHaveLength(4);
    const longest = Math.floor(windowMaxMs / hourMs);
    expect(found[0]).toBe(`0-${longest * 60} complete ${longest}p ${longest}b`);
  });
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
  const { store, stream: own } = await holdStream(oddly.db);
  const window = { from: epochMs(origin + 1), to: epochMs(origin + minuteMs + 2) };
  await plan({ store, stream: own, runId: "" }, [window]);
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
