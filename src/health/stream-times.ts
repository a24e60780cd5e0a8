import { type EpochMs, epochMs, historyMs, minuteMs } from "../contract/time.ts";
import { type Interval, interval, lengthMs, subtract, union } from "../sync/intervals.ts";
import {
  completeThrough,
  edgeMarginMs,
  historyStart,
  horizonAt,
  startSlackMs,
} from "../sync/plan.ts";
import type { KnownTime } from "../sync/store.ts";

/** A stream's time, sorted by how well it is known. No two of the lists overlap. */
export type StreamTimes = {
  /** Up to when nothing is missing; undefined before the first complete window. */
  readonly completeThrough: EpochMs | undefined;
  /** Proven complete. */
  readonly coverage: readonly Interval[];
  /** The newest time that was read: stored, and read once more by the next run for late bills. */
  readonly settling: readonly Interval[];
  /** Read and stored, in windows that were not read to their end: not proven yet. */
  readonly unproven: readonly Interval[];
  /** Time that was planned and not read; the exchange's whole history where nothing was read yet. */
  readonly unread: readonly Interval[];
  /** Time that a run found lost. */
  readonly lost: readonly Interval[];
  /** The time after the newest that any run has planned to read. */
  readonly behind: readonly Interval[];
  /** When the exchange begins to forget time that is not settled; undefined where nothing was read. */
  readonly expiresAt: EpochMs | undefined;
};

/** What was read of time that is not complete. */
export type Reading = {
  /** The parts that were read of windows that are not read to their end. */
  readonly parts: readonly Interval[];
  /** The exchange's time when a run last planned; undefined where none did. */
  readonly plannedAt: EpochMs | undefined;
};

/**
 * Sorts a stream's time. Only time that a run has recorded as lost counts as lost: `now` may be wrong.
 * @param now the exchange's time.
 */
export function streamTimes(
  known: KnownTime,
  { parts, plannedAt = epochMs(0) }: Reading,
  { now: estimated, settleLagMs }: { readonly now: EpochMs; readonly settleLagMs: number },
): StreamTimes {
  const { coverage, lost, open } = known;
  const recorded = [...coverage, ...lost];
  const planned = [...recorded, ...open.map(({ window }) => window)];
  const now = sinceStart(estimated, planned);
  const horizon = horizonAt(now);
  const times = { completeThrough: completeThrough(known, now), coverage, lost };
  if (planned.length === 0) {
    const unread = interval(horizon, now);
    return { ...times, settling: [], unproven: [], unread, behind: [], expiresAt: undefined };
  }
  const recordedTo = newest(recorded);
  // Where no window is open, the last run has read up to the time of its plan.
  const isNewestRead = newest(planned) === recordedTo;
  const settling = isNewestRead
    ? interval(recordedTo, Math.min(recordedTo + settleLagMs, plannedAt))
    : [];
  const plannedTo = newest([...planned, ...settling]);
  const unproven = subtract(parts, [...recorded, ...settling]);
  const start = historyStart(known, horizon);
  const unread = subtract(interval(start, plannedTo), [...recorded, ...settling, ...unproven]);
  const behind = interval(plannedTo, now);
  const [oldest] = union([...unread, ...settling, ...behind]);
  // While a first sync runs the horizon moves on. Time that passes it then is no loss, since the first sync
  // begins a little after the horizon.
  const slackMs = oldest?.from === start ? startSlackMs : 0;
  return {
    ...times,
    settling,
    unproven,
    unread,
    behind,
    expiresAt: oldest && epochMs(oldest.from + slackMs + historyMs),
  };
}

// Far more than a window takes, by which the estimate may be late.
const lateMaxMs = minuteMs;

/**
 * A history that has just begun starts at the horizon, and so tells the exchange's time. The estimate may be
 * older. By it, time before the start could still be read, and would count as a gap.
 */
function sinceStart(estimated: EpochMs, planned: readonly Interval[]): EpochMs {
  const start = Math.min(...planned.map(({ from }) => from));
  const then = start + historyMs - edgeMarginMs;
  return then > estimated && then - estimated <= lateMaxMs ? epochMs(then) : estimated;
}

const newest = (intervals: readonly Interval[]): number =>
  intervals.reduce((latest, { to }) => Math.max(latest, to), Number.NEGATIVE_INFINITY);

/**
 * The share, from 0 to 1, of the planned time that was read and stored. Settling and unproven time count as
 * read. Lost time does not, nor does time that was not read before the stream was closed.
 */
export function coverageShare(
  times: Pick<StreamTimes, "coverage" | "settling" | "unproven" | "unread" | "lost"> & {
    readonly closedUnread?: readonly Interval[];
  },
): number {
  const { closedUnread = [] } = times;
  const readMs = lengthMs([...times.coverage, ...times.settling, ...times.unproven]);
  const wholeMs = readMs + lengthMs([...times.unread, ...times.lost, ...closedUnread]);
  return wholeMs === 0 ? 0 : readMs / wholeMs;
}
