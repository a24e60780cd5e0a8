// Holds: Tiling

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { billsApiOf } from "../src/core/contract/bills-api.ts";
import {
  type Interval,
  intersect,
  interval,
  lengthMs,
  subtract,
  union,
} from "../src/core/words/intervals.ts";
import type { KnownTime, PlannedWindow } from "../src/core/words/ledger.ts";
import { horizonAt, planLedger, readTime, startSlackMs } from "../src/core/words/plan.ts";
import { dayMs, type EpochMs, epochMs, minuteMs, retentionMs } from "../src/lib/time.ts";

const { windowMaxMs } = billsApiOf("USDT-FUTURES");

const ledger = { account: "main", productType: "USDT-FUTURES" } as const;
const now = epochMs(Date.UTC(2026, 5, 1));
const horizon = horizonAt(now);

/** A period of the last 120 days, so that some lie behind the horizon. */
const period = fc
  .tuple(fc.integer({ min: 0, max: 120 * 24 * 60 }), fc.integer({ min: 1, max: 20 * 24 * 60 }))
  .map(([agoMinutes, minutes]): Interval => {
    const from = now - agoMinutes * minuteMs;
    return { from: epochMs(from), to: epochMs(Math.min(now, from + minutes * minuteMs)) };
  })
  .filter(({ from, to }) => from < to);
const periods = fc.array(period, { maxLength: 6 });
const openWalk = fc
  .tuple(period, fc.option(fc.constant("1402"), { nil: undefined }))
  .map(([{ from, to }, cursor]): PlannedWindow => {
    const window = { from, to: epochMs(Math.min(to, from + windowMaxMs)) };
    return cursor === undefined ? { window } : { window, cursor, startedAt: window.to };
  });

/** Any known time, except that lost time is never also complete. */
const knownTime = fc
  .record({ coverage: periods, lost: periods, open: fc.array(openWalk, { maxLength: 4 }) })
  .map(
    ({ coverage, lost, open }): KnownTime => ({
      coverage: union(coverage),
      lost: subtract(lost, coverage),
      open,
    }),
  );

/** Wanted time that is not complete. Time that was lost to a clock that was ahead is wanted again. */
const gapsOf = ({ coverage }: KnownTime, at: EpochMs): readonly Interval[] =>
  subtract(interval(horizonAt(at), at), coverage);

const nothing: KnownTime = { coverage: [], lost: [], open: [] };
const planOf = (known: Partial<KnownTime>, at = now, settleLagMs = 0, unstored: EpochMs[] = []) =>
  planLedger(ledger, { ...nothing, ...known }, { now: at, settleLagMs, unstored });

describe("a plan", () => {
  test("tiles wanted time less coverage: no hole, no overlap, no window longer than 7 days", () => {
    fc.assert(
      fc.property(knownTime, (known) => {
        const windows = planOf(known).windows.map(({ window }) => window);
        const inReach = windows.map(({ from, to }) => ({
          from: epochMs(Math.max(from, horizon)),
          to,
        }));
        expect(union(inReach)).toEqual(gapsOf(known, now));
        expect(lengthMs(inReach)).toBe(lengthMs(gapsOf(known, now)));
        expect(windows.every((window) => lengthMs([window]) <= windowMaxMs)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("loses no time: what is wanted is covered, planned, or recorded as expired", () => {
    fc.assert(
      fc.property(knownTime, (known) => {
        const { windows, lost } = planOf(known);
        const planned = windows.map(({ window }) => window);
        const settled = [...known.coverage, ...known.lost];
        const start = Math.min(horizon, ...settled.map(({ from }) => from));
        expect(subtract(interval(start, now), [...settled, ...planned, ...lost])).toEqual([]);
        // An open window says at its end which part of it expired.
        const resumed = windows.filter(({ cursor }) => cursor !== undefined);
        const others = [
          ...settled,
          ...interval(horizon, now),
          ...resumed.map(({ window }) => window),
        ];
        expect(intersect(lost, others)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test("a first run wants the 90 days that the exchange serves, oldest first, and lost nothing", () => {
    const { windows, lost } = planOf({});
    expect(windows.length).toBe(13);
    expect(windows.map(({ window }) => window.from)).toEqual(
      windows.map(({ window }) => window.from).toSorted((a, b) => a - b),
    );
    expect(windows[0]).toEqual({
      window: { from: horizon, to: horizon + windowMaxMs },
      isLedgerStart: true,
    });
    // Each is asked for with a millisecond on both sides.
    expect(windowMaxMs + 1).toBe(7 * dayMs);
    expect(windows.at(-1)?.window.to).toBe(now);
    expect(lost).toEqual([]);
  });

  test("a window that was begun while some of it was not settled is taken up without that", () => {
    const window = { from: epochMs(now - 9 * dayMs), to: epochMs(now - 2 * dayMs) };
    const begun: PlannedWindow = { window, cursor: "1402", startedAt: window.to };
    const known = { coverage: interval(horizon, window.from), open: [begun] };
    expect(planOf(known, now, dayMs).windows.map((walk) => [walk.window, walk.cursor])).toEqual([
      [{ from: window.from, to: now - 3 * dayMs }, "1402"],
      [{ from: now - 3 * dayMs, to: now }, undefined],
    ]);
  });

  test.each([
    ["is read anew, since the run that began it was not served the bill", 1, undefined],
    ["is taken up where the bill is newer", 0, "1402"],
  ])("a begun window with a bill that was shown and is not stored %s", (_, olderMs, cursor) => {
    const window = { from: epochMs(now - 9 * dayMs), to: epochMs(now - 2 * dayMs) };
    const begun: PlannedWindow = { window, cursor: "1402", startedAt: now };
    const known = {
      coverage: [...interval(horizon, window.from), ...interval(window.to, now)],
      open: [begun],
    };
    const { windows } = planOf(known, now, 0, [epochMs(window.to - olderMs)]);
    expect(windows[0]?.window.from).toBe(window.from);
    expect(windows[0]?.cursor).toBe(cursor);
  });

  test.each([
    ["begins the history, where nothing is older", [], true],
    ["does not, where older time was read", interval(horizon - dayMs, horizon - minuteMs), false],
  ])(
    "a window that was being walked when the horizon passed its start %s",
    (_, coverage, isLedgerStart) => {
      const window = { from: epochMs(horizon - minuteMs), to: epochMs(horizon + dayMs) };
      const open = [{ window, cursor: "1402", startedAt: now }];
      const { windows, lost } = planOf({ coverage, open });
      expect(windows[0]).toMatchObject({ window, cursor: "1402", isLedgerStart });
      expect(lost).toEqual([]);
    },
  );

  const startedAgo = (ms: number): KnownTime => {
    const window = { from: epochMs(horizon - ms), to: epochMs(horizon + dayMs) };
    return { coverage: interval(window.to, now - minuteMs), lost: [], open: [{ window }] };
  };

  test("what a first run wanted, and nobody read for longer than the slack, is lost", () => {
    expect(planOf(startedAgo(startSlackMs + 1))).toMatchObject({
      windows: [{ window: { from: horizon }, isLedgerStart: false }, {}],
      lost: [{ from: horizon - startSlackMs - 1, to: horizon }],
    });
    expect(planOf(startedAgo(startSlackMs)).lost).toEqual([]);
  });

  test("what fell behind the horizon since the last run is lost, to the millisecond", () => {
    const { windows, lost } = planOf({
      coverage: interval(horizon - 60 * dayMs, horizon - 10 * dayMs),
    });
    expect(lost).toEqual(interval(horizon - 10 * dayMs, horizon));
    expect(windows[0]?.window.from).toBe(horizon);
  });
});

const lostDay = interval(horizon - dayMs, horizon - minuteMs);
test.each<[string, KnownTime["coverage"], KnownTime["lost"], number | undefined]>([
  [
    "the first time that is missing, whatever is complete behind it",
    [...interval(horizon, now - 50 * dayMs), ...interval(now - 40 * dayMs, now - minuteMs)],
    [],
    now - 50 * dayMs,
  ],
  ["nothing before anything is complete", [], [], undefined],
  [
    "nothing before anything is complete from the start on",
    interval(now - dayMs, now),
    [],
    undefined,
  ],
  [
    "not stopped at time that is lost",
    [
      ...interval(now - retentionMs - 9 * dayMs, horizon - dayMs),
      ...interval(horizon - minuteMs, now),
    ],
    lostDay,
    now,
  ],
])("read through is %s", (_, coverage, lost, through) => {
  expect(readTime({ coverage, lost, open: [] }, now).through).toBe(through);
});

test("of a ledger that has ended, time that was lost and then recovered is not unread", () => {
  const at = (day: number) => epochMs(now - day * dayMs);
  const known = {
    coverage: [
      { from: at(200), to: at(150) },
      { from: at(100), to: at(40) },
    ],
    lost: [],
    recovered: [{ from: at(150), to: at(100) }],
    open: [],
  };
  expect(readTime(known, now).unread).toEqual([{ from: at(40), to: now }]);
});
