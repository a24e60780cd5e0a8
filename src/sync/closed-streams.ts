import type { EpochMs } from "../contract/time.ts";
import { type Interval, intersect, interval, subtract } from "./intervals.ts";
import { completeThrough, historyStart, horizonAt } from "./plan.ts";
import type { KnownTime } from "./store.ts";

/** What is left of a stream that is closed. */
export type ClosedTime = {
  /** The last instant up to which nothing is missing; undefined where nothing was proven. */
  readonly through: EpochMs | undefined;
  /** What was not read of it, or not proven to be all. */
  readonly unread: readonly Interval[];
};

/** @param closedAt the exchange's time when it was closed. */
export function closedTime(known: KnownTime, closedAt: EpochMs): ClosedTime {
  const start = historyStart(known, horizonAt(closedAt));
  return {
    through: completeThrough(known, closedAt),
    unread: subtract(interval(start, closedAt), [...known.coverage, ...known.expired]),
  };
}

/** The part of a closed stream's unread time that the exchange has forgotten: not even switching back brings it. */
export const behindHorizon = (unread: readonly Interval[], now: EpochMs): readonly Interval[] =>
  intersect(unread, interval(Number.NEGATIVE_INFINITY, horizonAt(now)));

/** Whether nothing was ever read of a stream. */
export const isUnread = ({ coverage, expired, open }: KnownTime): boolean =>
  coverage.length === 0 &&
  expired.length === 0 &&
  open.every(({ startedAt }) => startedAt === undefined);
