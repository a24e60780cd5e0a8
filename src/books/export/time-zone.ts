import { Temporal } from "temporal-polyfill";
import type { Interval } from "../../core/words/intervals.ts";
import { type EpochMs, epochMs, isoTime, minuteMs } from "../../lib/time.ts";

/** The day of a time: 2026-11-21. */
export type DayOf = (time: EpochMs) => string;

const utcDay: DayOf = (time) => isoTime(time).slice(0, 10);

/** @param zone of the IANA's list, or "UTC". */
export const dayIn = (zone: string): DayOf => {
  const offsetAt = offsetIn(zone);
  return (time) => utcDay(epochMs(time + offsetAt(time)));
};

/** By how many milliseconds a zone's clock is ahead of UTC. */
export function offsetIn(zone: string): (time: number) => number {
  // Clocks change at quarters of an hour.
  const quarterMs = 15 * minuteMs;
  let [last, offsetMs] = [-1, 0];
  return (time) => {
    const quarter = Math.floor(time / quarterMs);
    if (zone !== "UTC" && quarter !== last) {
      const instant = Temporal.Instant.fromEpochMilliseconds(time);
      offsetMs = instant.toZonedDateTimeISO(zone).offsetNanoseconds / 1_000_000;
    }
    last = quarter;
    return offsetMs;
  };
}

/** A date's first moment in a zone, which is not always its midnight. */
export const startOfDay = (date: string, zone: string): EpochMs =>
  startOf(Temporal.PlainDate.from(date), zone);

/** @param period a month or a year: 2026-10 or 2026 */
export function periodIn(period: string, zone: string): Interval {
  const isYear = period.length === 4;
  const first = Temporal.PlainDate.from(`${period}${isYear ? "-01" : ""}-01`);
  const next = first.add(isYear ? { years: 1 } : { months: 1 });
  return { from: startOf(first, zone), to: startOf(next, zone) };
}

export function isZone(zone: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone);
    return true;
  } catch {
    return false;
  }
}

const startOf = (date: Temporal.PlainDate, zone: string): EpochMs =>
  epochMs(date.toZonedDateTime(zone).epochMilliseconds);
