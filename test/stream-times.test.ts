import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { billsApiOf } from "../src/contract/bills-api.ts";
import { dayMs, epochMs, historyMs, hourMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { coverageShare, type Reading, streamTimes } from "../src/health/stream-times.ts";
import {
  type Interval,
  interval,
  lengthMs,
  split,
  subtract,
  union,
} from "../src/sync/intervals.ts";
import { planStream, startSlackMs } from "../src/sync/plan.ts";
import type { KnownTime } from "../src/sync/store.ts";

const { windowMaxMs } = billsApiOf("USDT-FUTURES");

const stream = { account: "main", productType: "USDT-FUTURES" } as const;
const settleLagMs = 10 * minuteMs;
const syncedAt = epochMs(Date.UTC(2026, 10, 21, 12));
const start = epochMs(syncedAt - historyMs + secondMs);
const settledTo = epochMs(syncedAt - settleLagMs);

const known = (changes: Partial<KnownTime> = {}): KnownTime => ({
  coverage: interval(start, settledTo),
  lost: [],
  open: [],
  ...changes,
});
const planned = (afterMs = 0): Reading => ({
  parts: [],
  plannedAt: epochMs(syncedAt + afterMs),
});
const after = (ms: number) => ({ now: epochMs(syncedAt + ms), settleLagMs });

describe("after a complete sync", () => {
  test("its newest ten minutes are settling, nothing is a gap, and the share is whole", () => {
    const times = streamTimes(known(), planned(), after(20 * secondMs));
    expect(times).toMatchObject({
      completeThrough: settledTo,
      settling: interval(settledTo, syncedAt),
      unread: [],
      behind: interval(syncedAt, syncedAt + 20 * secondMs),
      expiresAt: settledTo + historyMs,
    });
    expect(coverageShare(times)).toBe(1);
  });

  test("days later, the time since is unread, and no gap", () => {
    const times = streamTimes(known(), planned(), after(3 * dayMs));
    expect(times).toMatchObject({ unread: [], behind: interval(syncedAt, syncedAt + 3 * dayMs) });
    expect(coverageShare(times)).toBe(1);
  });

  test("nothing before its start is a gap where the estimate of the time is late", () => {
    const times = streamTimes(known(), planned(), after(-600));
    expect(times).toMatchObject({ completeThrough: settledTo, unread: [] });
    expect(coverageShare(times)).toBe(1);
  });

  test("nothing is called lost that no run found lost, however late a clock says it is", () => {
    const times = streamTimes(known(), planned(), after(historyMs + 40 * dayMs));
    expect(times).toMatchObject({ lost: [], unread: [], expiresAt: settledTo + historyMs });
  });

  test("with no settle lag, nothing is settling", () => {
    const at = { now: epochMs(syncedAt + secondMs), settleLagMs: 0 };
    const whole = known({ coverage: interval(start, syncedAt) });
    expect(streamTimes(whole, planned(20), at).settling).toEqual([]);
  });

  test("no time is called settling that was not planned when the first walk began", () => {
    // Windows that had to wait began later than the plan was made.
    const times = streamTimes(known(), planned(2), after(hourMs));
    expect(times.settling).toEqual(interval(settledTo, syncedAt));
    const shorter = { now: epochMs(syncedAt + hourMs), settleLagMs: 2 * settleLagMs };
    expect(streamTimes(known(), planned(2), shorter).settling).toEqual(
      interval(settledTo, syncedAt + 2),
    );
  });
});

test("a run that left its newest window open has a gap there, from what is settled on", () => {
  const newest = { from: settledTo, to: epochMs(syncedAt + hourMs) };
  const times = streamTimes(known({ open: [{ window: newest }] }), planned(), after(hourMs));
  expect(times).toMatchObject({ settling: [], unread: [newest], behind: [] });
});

describe("a first sync", () => {
  test("that has not begun leaves all of the time to read, and none to expire", () => {
    const times = streamTimes(known({ coverage: [] }), planned(), after(0));
    expect(times).toMatchObject({
      completeThrough: undefined,
      unread: interval(start, syncedAt),
      behind: [],
      expiresAt: undefined,
    });
    expect(coverageShare(times)).toBe(0);
  });

  const windows = split({ from: start, to: syncedAt }, windowMaxMs);
  const interrupted = known({
    coverage: [],
    open: windows.map((window) => ({ window, cursor: "1", startedAt: syncedAt })),
  });
  /** The newest part of each window. */
  const partsOf = (share: number): Reading => ({
    parts: windows.flatMap(({ from, to }) => interval(Math.round(to - share * (to - from)), to)),
    plannedAt: syncedAt,
  });

  test("that was stopped with 95 percent of each window read has read 95 percent", () => {
    const times = streamTimes(interrupted, partsOf(0.95), after(minuteMs));
    expect(coverageShare(times)).toBeCloseTo(0.95, 4);
    expect(times.coverage).toEqual([]);
    expect(lengthMs([...times.unproven, ...times.unread])).toBe(lengthMs(windows));
  });

  test("loses nothing for two hours, in which its history may start later", () => {
    const times = streamTimes(interrupted, partsOf(0.5), after(hourMs));
    expect(times.expiresAt).toBe(start + historyMs + startSlackMs);
    expect(times.unread[0]?.from).toBe(start);
  });
});

const period = fc
  .tuple(fc.integer({ min: -100, max: 0 }), fc.integer({ min: 1, max: 30 }))
  .map(([fromDay, days]): Interval => {
    const from = epochMs(syncedAt + fromDay * dayMs);
    return { from, to: epochMs(Math.min(syncedAt, from + days * dayMs)) };
  })
  .filter(({ from, to }) => from < to);

test("the lists share no time, and leave none out between the start of the history and now", () => {
  fc.assert(
    fc.property(
      fc.array(period, { maxLength: 5 }),
      fc.array(period, { maxLength: 3 }),
      fc.array(period, { maxLength: 3 }),
      (covered, windows, began) => {
        // No window is planned over covered time.
        const open = subtract(union(windows), covered);
        const given = known({
          coverage: union(covered),
          open: open.map((window) => ({ window, cursor: "1", startedAt: window.to })),
        });
        const reading = {
          parts: open.flatMap(({ from, to }) => interval((from + to) / 2, to)),
          plannedAt: began[0]?.to,
        };
        const now = epochMs(syncedAt + hourMs);
        const times = streamTimes(given, reading, { now, settleLagMs });
        const lists = [
          ...[times.coverage, times.settling, times.unproven],
          ...[times.unread, times.lost, times.behind],
        ].flat();
        expect(lengthMs(union(lists))).toBe(lengthMs(lists));
        const [whole, ...others] = union(lists);
        expect({ to: whole?.to, others }).toEqual({ to: now, others: [] });
        // The time that is not settled is what the next run would plan, without what it reads a second
        // time.
        const { walks, lost } = planStream(stream, given, { now, settleLagMs: 0 });
        const wanted = union([...walks.map(({ window }) => window), ...lost]);
        const unsettled = union([
          ...[times.settling, times.unproven, times.unread, times.behind].flat(),
        ]);
        expect(unsettled.at(0)?.from).toBe(wanted.at(0)?.from);
      },
    ),
    { numRuns: 300 },
  );
});
