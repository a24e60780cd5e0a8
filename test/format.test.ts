import { expect, test } from "vitest";
import { dayMs, epochMs, hourMs, minuteMs, secondMs } from "../src/contract/time.ts";
import {
  formatCount,
  formatCounted,
  formatDuration,
  formatInterval,
  formatMinute,
  formatTime,
} from "../src/output/format.ts";

const durations: readonly [number, string][] = [
  [0, "0.0 s"],
  [49, "0.0 s"],
  [400, "0.4 s"],
  [9_499, "9.5 s"],
  [9_500, "10 s"],
  [59_499, "59 s"],
  [59_500, "1 m"],
  [250 * secondMs, "4 m 10 s"],
  [hourMs - 1, "1 h"],
  [hourMs + 59 * secondMs, "1 h"],
  [23 * hourMs + 59 * minuteMs, "23 h 59 m"],
  [dayMs - 1, "1 d"],
  [90 * dayMs - secondMs, "89 d 23 h"],
  [90 * dayMs, "90 d"],
];

test.each(durations)("%i ms is %s: the two largest units", (ms, expected) => {
  expect(formatDuration(ms)).toBe(expected);
});

test("a time is shown in UTC, whole or as the minute that it lies in, never a later one", () => {
  const time = epochMs(Date.UTC(2026, 10, 21, 3, 24, 59, 999));
  expect(formatTime(time)).toBe("2026-11-21 03:24:59Z");
  expect(formatMinute(time)).toBe("2026-11-21 03:24Z");
  expect(formatInterval({ from: time, to: epochMs(time + 1) })).toBe(
    "2026-11-21 03:24:59Z to 2026-11-21 03:25:00Z",
  );
  expect([formatTime(undefined), formatMinute(undefined)]).toEqual(["-", "-"]);
});

test("counts have thousands apart, and their noun its number", () => {
  expect([0, 999, 1_000, 1_234_567].map(formatCount)).toEqual(["0", "999", "1,000", "1,234,567"]);
  expect([0, 1, 2_000].map((count) => formatCounted(count, "row"))).toEqual([
    "0 rows",
    "1 row",
    "2,000 rows",
  ]);
});
