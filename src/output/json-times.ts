import { type EpochMs, isoTime } from "../contract/time.ts";
import type { Interval } from "../sync/intervals.ts";

/**
 * A time in JSON: ISO 8601 in UTC, cut to the second. jq's `fromdate` reads no milliseconds: where
 * they matter, a field beside it whose name ends in `Ms` has them.
 */
export const jsonTime = (time: EpochMs): string => `${isoTime(time).slice(0, 19)}Z`;

/** A time in JSON, or null. */
export const jsonTimeOrNull = (time: EpochMs | undefined): string | null =>
  time === undefined ? null : jsonTime(time);

/** A half-open interval, with its ends as text and in milliseconds since the Unix epoch. */
export const jsonInterval = ({ from, to }: Interval): object => ({
  from: jsonTime(from),
  to: jsonTime(to),
  fromMs: from,
  toMs: to,
});
