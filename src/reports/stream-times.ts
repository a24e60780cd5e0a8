import { type EpochMs, epochMs, historyMs } from "../contract/time.ts";
import { type Interval, interval, lengthMs, subtract, union } from "../sync/intervals.ts";
import { completeThrough, historyStart, horizonAt, startSlackMs } from "../sync/plan.ts";
import type { KnownTime } from "../sync/store.ts";

/** What a stream's time is to its reader. No two of the lists overlap. */
export type StreamTimes = {
  /** Up to when nothing is missing; undefined before the first complete window. */
  readonly completeThrough: EpochMs | undefined;
  /** Proven complete. */
  readonly coverage: readonly Interval[];
  /** The newest time that was read: stored, and read once more by the next run for late bills. */
  readonly settling: readonly Interval[];
  /** Read and stored, of windows that were not read to their end: not proven yet. */
  readonly unproven: readonly Interval[];
  /** Time that was to be read, and was not; all of the exchange's where nothing was read yet. */
  readonly gaps: readonly Interval[];
  /** Time that a run found lost. */
  readonly expired: readonly Interval[];
  /** The time since the newest that any run set out to read. */
  readonly unread: readonly Interval[];
  /** When the first time that is not settled begins to be lost; undefined where nothing was read. */
  readonly expiresAt: EpochMs | undefined;
};

/** What is stored of the time that is not complete. */
export type Reading = {
  /** What was read of windows that are not read to their end. */
  readonly parts: readonly Interval[];
  /** The exchange's times when walks of the last run began. */
  readonly startedAt: readonly EpochMs[];
};

/**
 * Sorts a stream's time. Only what a run found lost is called lost: `now` may be a wrong clock's.
 * @param now the exchange's time.
 */
export function streamTimes(
  known: KnownTime,
  { parts, startedAt }: Reading,
  { now, settleLagMs }: { readonly now: EpochMs; readonly settleLagMs: number },
): StreamTimes {
  const { coverage, expired, open } = known;
  const horizon = horizonAt(now);
  const recorded = [...coverage, ...expired];
  const planned = [...recorded, ...open.map(({ window }) => window)];
  const times = { completeThrough: completeThrough(known, now), coverage, expired };
  if (planned.length === 0) {
    const gaps = interval(horizon, now);
    return { ...times, settling: [], unproven: [], gaps, unread: [], expiresAt: undefined };
  }
  const recordedTo = newest(recorded);
  const isNewestRead = newest(planned) === recordedTo;
  const settling = isNewestRead
    ? interval(recordedTo, Math.min(recordedTo + settleLagMs, readTo(recordedTo, startedAt)))
    : [];
  const plannedTo = newest([...planned, ...settling]);
  const unproven = subtract(parts, [...recorded, ...settling]);
  const start = historyStart(known, horizon);
  const gaps = subtract(interval(start, plannedTo), [...recorded, ...settling, ...unproven]);
  const unread = interval(plannedTo, now);
  const [oldest] = union([...gaps, ...settling, ...unread]);
  // What the horizon takes of a first sync meanwhile is no loss: the history starts behind it.
  const slackMs = oldest?.from === start ? startSlackMs : 0;
  return {
    ...times,
    settling,
    unproven,
    gaps,
    unread,
    expiresAt: oldest && epochMs(oldest.from + slackMs + historyMs),
  };
}

const newest = (intervals: readonly Interval[]): number =>
  intervals.reduce((latest, { to }) => Math.max(latest, to), Number.NEGATIVE_INFINITY);

/**
 * Up to when a run has read that left time after `recordedTo` unsettled, and no window open. It
 * planned up to the time before its first request.
 */
const readTo = (recordedTo: number, startedAt: readonly EpochMs[]): number => {
  const later = startedAt.filter((time) => time > recordedTo);
  return later.length === 0 ? recordedTo : Math.min(...later);
};

/**
 * The share, from 0 to 1, of the time that runs set out to read which was read and stored. What is
 * settling and what is not proven yet count as read. What was lost does not, nor what was not read
 * before the stream was closed.
 */
export function coverageShare(
  times: Pick<StreamTimes, "coverage" | "settling" | "unproven" | "gaps" | "expired"> & {
    readonly closedUnread?: readonly Interval[];
  },
): number {
  const { closedUnread = [] } = times;
  const readMs = lengthMs([...times.coverage, ...times.settling, ...times.unproven]);
  const wholeMs = readMs + lengthMs([...times.gaps, ...times.expired, ...closedUnread]);
  return wholeMs === 0 ? 0 : readMs / wholeMs;
}
