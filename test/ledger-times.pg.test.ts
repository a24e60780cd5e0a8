// What is kept of a ledger's time is what runs did; the worst ledgers come first (drawn runs).

import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { readLedgerTimes } from "../src/check/health/ledger-status.ts";
import { inTransaction } from "../src/core/postgres/connect.ts";
import { forgetCoverage } from "../src/core/store/account-key.ts";
import { ledgerTimes, readKnownTime } from "../src/core/store/known-time.ts";
import {
  type Interval,
  intersect,
  interval,
  lengthMs,
  subtract,
  union,
} from "../src/core/words/intervals.ts";
import type { KnownTime, Ledger, PlannedWindow } from "../src/core/words/ledger.ts";
import { horizonAt, planLedger } from "../src/core/words/plan.ts";
import { dayMs, epochMs, minuteMs, retentionMs } from "../src/lib/time.ts";
import { seededRandom } from "../src/wings/sandbox/random.ts";
import { aBill } from "./support/bills.ts";
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
} from "./support/held-store.ts";
import { storeEnd, storeTime } from "./support/stored-ledger.ts";

const { db } = await fileDatabase();

/** The stored times of a ledger, in milliseconds. */
async function keptTimes({ account, productType }: Ledger) {
  const names = ["covered", "lost", "open"] as const;
  const spans = names.map(
    (column) => `(
      select coalesce(json_agg(json_build_object(
        'from', (extract(epoch from lower(span)) * 1000)::bigint,
        'to', (extract(epoch from upper(span)) * 1000)::bigint
      )), '[]')
      from unnest(${column}) as span
    ) as ${column}`,
  );
  const { rows } = await db.execute<
    Record<(typeof names)[number], Interval[]> & { end: string }
  >(sql`
    select ${sql.raw(spans.join())}, extract(epoch from first_unread_at) * 1000 as end
    from ledgers
    where account = ${account} and product_type = ${productType}`);
  const { covered = [], lost = [], open = [], end = null } = rows[0] ?? {};
  return { covered, lost, open, settledTo: end === null ? undefined : Number(end) };
}

/** What a ledger's times are by the operations that were done, computed here. */
type Expected = Record<"covered" | "lost" | "open", readonly Interval[]>;

const settledTo = ({ covered, lost, open }: Expected): number | undefined => {
  const all = union([...covered, ...lost, ...open]);
  const end = all.at(-1)?.to ?? origin;
  const hole = subtract(interval(all[0]?.from ?? origin, end), [...covered, ...lost])[0];
  return all.length === 0 ? undefined : (hole?.from ?? end);
};

/** What is told of a ledger shares no time and leaves none out, and the oldest unread time is what a sync would plan. */
async function expectSorted(ledger: Ledger, known: KnownTime): Promise<void> {
  const now = epochMs(origin + retentionMs + 90 * minuteMs);
  const of = (await readLedgerTimes(db, [ledger], now)).of(ledger);
  const lists = [of.coverage, of.unfinished, of.unread, of.openLost].flat();
  expect(lengthMs(union(lists))).toBe(lengthMs(lists));
  if (of.plannedTo === undefined) return expect(of.unread).toEqual(interval(horizonAt(now), now));
  expect(union(lists)).toHaveLength(1);
  expect([...union(lists)]).toMatchObject([{ to: of.plannedTo }]);
  const { windows, lost } = planLedger(ledger, known, { now, settleLagMs: 0 });
  const wanted = union([...windows.map(({ window }) => window), ...lost]);
  const oldest = union([...of.unread, ...of.unfinished, ...interval(of.plannedTo, now)]);
  expect(oldest[0]?.from).toBe(wanted[0]?.from);
}

/** Plans, cuts, reads and loses time as runs do, in any order. @returns what is expected afterwards. */
async function live(
  held: HeldLedger,
  { covered, lost, open }: Expected,
  random: () => number,
): Promise<Expected> {
  const { store, ledger } = held;
  const known = (await store.knownTimes([ledger])).of(ledger);
  const some = (windows: readonly Interval[]) => windows.filter(() => random() < 0.7);
  const part = (window: Interval) => {
    const middle = epochMs(
      window.from + Math.floor(((window.to - window.from) * random()) / 2) * 2,
    );
    return random() < 0.5 ? interval(window.from, middle) : interval(middle, window.to);
  };
  const [walk] = known.open.filter(() => random() < 0.8);
  if (walk === undefined || random() < 0.3) {
    const from = Math.floor(random() * 60);
    const wanted = [minutes(from, from + 1 + Math.floor(random() * 20))];
    const missing = subtract(wanted, [...covered, ...lost]);
    const fresh = missing.map((window): PlannedWindow => ({ window }));
    const isLost = random() < 0.3;
    const uncoverFrom = random() < 0.2 ? minutes(0, from).to : undefined;
    const plan = isLost ? { windows: [], lost: missing } : { windows: fresh, lost: [] };
    await store.recordPlans([{ ledger, plannedAt: origin, uncoverFrom, ...plan }]);
    return {
      covered: intersect(
        covered,
        interval(Number.NEGATIVE_INFINITY, uncoverFrom ?? Number.MAX_VALUE),
      ),
      lost: union([...lost, ...plan.lost]),
      open: union(plan.windows.map(({ window }) => window)),
    };
  }
  const proven = some(part(walk.window));
  const end = { proven, lost: some(intersect(subtract([walk.window], proven), part(walk.window))) };
  const cursorBefore = walk.cursor;
  await store.commitPage(
    aPage(ledger, walk.window, { end }, { ...(cursorBefore && { cursorBefore }) }),
  );
  return {
    covered: union([...covered, ...proven]),
    lost: union([...lost, ...end.lost]),
    open: subtract(open, [walk.window]),
  };
}

test.each([1, 2, 3])("what is kept of a ledger's time is what runs did, seed %i", async (seed) => {
  const random = seededRandom(seed);
  const held = await holdLedger(db);
  const seen = new Set<string>();
  let expected: Expected = { covered: [], lost: [], open: [] };
  for (let step = 0; step < 60; step++) {
    expected = await live(held, expected, random);
    const kept = await keptTimes(held.ledger);
    expect(kept).toEqual({ ...expected, settledTo: settledTo(expected) });
    const known = await readKnownTime(db, held.ledger);
    await expectSorted(held.ledger, known);
    const { coverage, lost, open } = known;
    expect([coverage, lost]).toEqual([kept.covered, kept.lost]);
    expect(union(open.map(({ window }) => window))).toEqual(kept.open);
    for (const [name, value] of Object.entries(kept))
      if (value !== undefined && [value].flat().length > 0) seen.add(name);
  }
  expect([...seen].toSorted()).toEqual(["covered", "lost", "open", "settledTo"]);
});

test("what is forgotten is unread again, and no other time; of a ledger without a bill, all is", async () => {
  for (const bills of [[aBill({ cTime: minutes(0, 100).to })], []]) {
    const held = await holdLedger(db);
    const { ledger, store } = held;
    const window = minutes(0, 600);
    await plan(held, [window]);
    await store.commitPage(aPage(ledger, window, provenWhole(window), { bills }));
    await plan(held, [minutes(600, 610)]);
    await inTransaction(db, (tx) => forgetCoverage(tx, ledger.account, minutes(0, 300).to));
    expect(await timesOf(db, ledger)).toEqual(bills.length > 0 ? ["0-360 covered"] : []);
    expect((await keptTimes(ledger)).settledTo).toBe(
      bills.length > 0 ? minutes(0, 360).to : undefined,
    );
  }
});

test("what an ended ledger lacks stays the same time, however long ago it ended", async () => {
  const ledger = { account: "ended inside the 90 days", productType: "USDT-FUTURES" } as const;
  const endedAt = epochMs(origin + 30 * dayMs);
  const covered = { from: epochMs(origin + 10 * dayMs), to: epochMs(origin + 25 * dayMs) };
  await storeTime(db, ledger, { covered: [covered] });
  await storeEnd(db, ledger, endedAt);
  const unreadAfter = async (days: number) => {
    const scope = { accounts: [ledger.account], now: epochMs(endedAt + days * dayMs) };
    return (await db.execute(sql`select unread::text from ${ledgerTimes(scope)}`)).rows;
  };
  const soon = await unreadAfter(1);
  expect(soon[0]?.["unread"]).toContain(",");
  expect(await unreadAfter(5)).toEqual(soon);
  expect(await unreadAfter(200)).toEqual(soon);
});
