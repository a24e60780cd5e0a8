import { type EpochMs, isoTime } from "../contract/time.ts";
import type { Interval } from "../sync/intervals.ts";

/**
 * A time in JSON: ISO 8601 in UTC, the second in which it lies. jq's `fromdate` reads no
 * milliseconds: where they matter they stand beside, in a field whose name ends in `Ms`.
 */
export const jsonTime = (time: EpochMs): string => `${isoTime(time).slice(0, 19)}Z`;

/** The same, and null where there is none. */
export const jsonTimeOrNull = (time: EpochMs | undefined): string | null =>
  time === undefined ? null : jsonTime(time);

/** A half-open stretch of time, and its ends in milliseconds since the Unix epoch. */
export const jsonInterval = ({ from, to }: Interval): object => ({
  from: jsonTime(from),
  to: jsonTime(to),
  fromMs: from,
  toMs: to,
});
