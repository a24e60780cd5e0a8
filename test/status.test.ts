import { describe, expect, test } from "vitest";
import { statusText } from "../src/commands/status.ts";
import { dayMs, epochMs, historyMs, hourMs, minuteMs, secondMs } from "../src/contract/time.ts";
import { coverageShare, type LastRun, type StreamStatus } from "../src/reports/status.ts";

const now = epochMs(Date.UTC(2026, 10, 21, 12));
const ago = (ms: number) => epochMs(now - ms);
const between = (fromAgoMs: number, toAgoMs: number) => ({
  from: ago(fromAgoMs),
  to: ago(toAgoMs),
});

/** A stream that is complete but for its newest ten minutes. */
const stream = (changes: Partial<StreamStatus> = {}): StreamStatus => ({
  stream: { account: "main", productType: "USDT-FUTURES" },
  bills: 1_234,
  rejected: 0,
  completeThrough: ago(10 * minuteMs),
  coverage: [between(historyMs, 10 * minuteMs)],
  gaps: [between(10 * minuteMs, 0)],
  expired: [],
  expiresAt: epochMs(now - 10 * minuteMs + historyMs),
  ...changes,
});

const lastRun: LastRun = {
  command: "sync",
  startedAt: ago(hourMs),
  finishedAt: ago(hourMs - 19 * secondMs),
  outcome: "complete",
  error: null,
};

const linesOf = (streams: readonly StreamStatus[], run: LastRun | undefined = lastRun) =>
  statusText({ lastRun: run, streams }, now).split("\n");

test("a stream's row says through when it is complete, what is missing, lost, and when more is", () => {
  const interrupted = stream({
    stream: { account: "main", productType: "COIN-FUTURES" },
    bills: 9,
    rejected: 2,
    completeThrough: ago(60 * dayMs),
    coverage: [between(80 * dayMs, 60 * dayMs), between(50 * dayMs, 30 * dayMs)],
    gaps: [between(60 * dayMs, 50 * dayMs), between(30 * dayMs, 0)],
    expired: [between(95 * dayMs, 89 * dayMs - hourMs)],
    expiresAt: ago(60 * dayMs - historyMs),
  });
  expect(linesOf([stream(), interrupted])).toEqual([
    "main          bills   complete through  coverage  gaps     lost  expires in",
    "USDT-FUTURES  1,234  2026-11-21 11:50Z     99.9%  10 m        -   89 d 23 h",
    "COIN-FUTURES      9  2026-09-22 12:00Z     46.4%  40 d  6 d 1 h        30 d",
    "",
    "main/COIN-FUTURES: missing 2026-09-22 12:00:00Z to 2026-10-02 12:00:00Z",
    "main/COIN-FUTURES: lost 2026-08-18 12:00:00Z to 2026-08-24 13:00:00Z",
    "main/COIN-FUTURES: 2 rows in rejected_bills broke the API's contract; after an upgrade, npm run replay",
    "last run: sync, 2026-11-21 11:00:00Z to 2026-11-21 11:00:19Z: complete",
  ]);
});

test("before the first sync, nothing is complete and what is oldest is being lost now", () => {
  const fresh = stream({
    bills: 0,
    completeThrough: undefined,
    coverage: [],
    gaps: [between(historyMs - secondMs, 0)],
    expiresAt: epochMs(now + secondMs),
  });
  expect(statusText({ lastRun: undefined, streams: [] }, now)).toBe(
    "nothing is stored yet; run sync",
  );
  expect(statusText({ lastRun: undefined, streams: [fresh] }, now).split("\n")).toEqual([
    "main          bills  complete through  coverage       gaps  lost  expires in",
    "USDT-FUTURES      0                 -      0.0%  89 d 23 h     -         now",
    "",
    "no run yet",
  ]);
});

test("a hole is told where no newer gap follows it, as by a clock behind the exchange's", () => {
  const hole = between(3 * dayMs, 2 * dayMs);
  expect(linesOf([stream({ gaps: [hole] })])[3]).toBe(
    "main/USDT-FUTURES: missing 2026-11-18 12:00:00Z to 2026-11-19 12:00:00Z",
  );
});

test("without a gap, nothing expires", () => {
  const complete = stream({ gaps: [], expiresAt: undefined });
  expect(linesOf([complete])[1]).toBe(
    "USDT-FUTURES  1,234  2026-11-21 11:50Z    100.0%     -     -           -",
  );
});

describe("the last run", () => {
  const runs: readonly [string, Partial<LastRun>, string][] = [
    [
      "tells its error",
      { outcome: "failed", error: "the host is away" },
      "last run: sync, 2026-11-21 11:00:00Z to 2026-11-21 11:00:19Z: failed (the host is away)",
    ],
    [
      "without an end may be at work",
      { outcome: "running", finishedAt: undefined },
      "last run: sync, 2026-11-21 11:00:00Z: still at work, or killed",
    ],
  ];
  test.each(runs)("%s", (_title, changes, expected) => {
    expect(linesOf([stream()], { ...lastRun, ...changes }).at(-1)).toBe(expected);
  });
});

test("coverage is never rounded up to 100 percent, and is 0 where nothing is known", () => {
  const almost = stream({ coverage: [between(historyMs, 1)], gaps: [between(1, 0)] });
  expect(linesOf([almost])[1]).toContain(" 99.9% ");
  expect(coverageShare(stream({ coverage: [], gaps: [], expired: [] }))).toBe(0);
  expect(
    coverageShare(
      stream({ coverage: [between(4, 3)], gaps: [between(3, 1)], expired: [between(1, 0)] }),
    ),
  ).toBe(0.25);
});
