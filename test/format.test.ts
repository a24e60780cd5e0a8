import { expect, test } from "vitest";
import { dayMs, epochMs, hourMs, minuteMs, secondMs } from "../src/lib/time.ts";
import {
  formatCounted,
  formatDuration,
  formatInterval,
  formatMinute,
  formatTime,
} from "../src/output/text.ts";

test("a duration has its two largest units, rounded down but for seconds", () => {
  for (const [ms, text] of [
    [49, "0.0 s"],
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
  ] as const)
    expect([ms, formatDuration(ms)]).toEqual([ms, text]);
});

test("a time is shown in UTC, whole or as the minute that it lies in, never a later one; a count with its noun", () => {
  const time = epochMs(Date.UTC(2026, 10, 21, 3, 24, 59, 999));
  expect([formatTime(undefined), formatMinute(undefined)]).toEqual(["-", "-"]);
  expect(formatMinute(time)).toBe("2026-11-21 03:24Z");
  expect(formatInterval({ from: time, to: epochMs(time + 1) })).toBe(
    "2026-11-21 03:24:59Z to 2026-11-21 03:25:00Z",
  );
  expect([0, 1, 1_234_567].map((count) => formatCounted(count, "row"))).toEqual([
    ...["0 rows", "1 row", "1,234,567 rows"],
  ]);
});
