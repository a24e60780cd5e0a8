import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { StreamTimes } from "../../health/stream-times.ts";
import { type Interval, intersect, interval, subtract, union } from "../../sync/intervals.ts";

/** What the server knows about a ledger's time. Times are the exchange's. */
export type LedgerTimes = StreamTimes & {
  /** When the exchange stopped serving the ledger: no bill is newer. */
  readonly closedAt: EpochMs | undefined;
  /** The times of rejected rows; undefined for a row whose time cannot be read. */
  readonly rejected: readonly (EpochMs | undefined)[];
};

/** Why a span of time cannot be answered. */
export type HoleKind =
  /** Older than everything that was ever read. */
  | "before"
  /** The exchange deleted it before it was read. */
  | "lost"
  /** Not read, or not read to its end; the next sync reads it. */
  | "unread"
  /** Not read before the account became of the other kind: no sync can read it. */
  | "unreadable"
  /** No sync read it for too long. */
  | "stale"
  /** A row in it broke the contract, and no answer contains that row. */
  | "rejected";

export type Hole = { readonly kind: HoleKind; readonly span: Interval };

/** All spans of a ledger's time, up to now, about which an answer would be incomplete. */
export function holesOf(
  times: LedgerTimes,
  { now, maxAgeMs }: { readonly now: EpochMs; readonly maxAgeMs: number },
): readonly Hole[] {
  const read = union([...times.coverage, ...times.settling]);
  const begin = answeredFrom(times);
  const end = read.at(-1)?.to;
  const isClosed = times.closedAt !== undefined;
  const unread = isClosed ? "unreadable" : "unread";
  const holes = (kind: HoleKind, spans: readonly Interval[]) =>
    spans.map((span): Hole => ({ kind, span }));
  if (begin === undefined || end === undefined) {
    return holes("unread", interval(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY));
  }
  return [
    ...holes("before", interval(Number.NEGATIVE_INFINITY, begin)),
    ...holes("lost", times.lost),
    ...holes(unread, subtract(interval(begin, end), [...read, ...times.lost])),
    ...holes(unread, underNewest(times, end)),
    ...holes(isClosed ? "unreadable" : "stale", staleTail(times, end, now, maxAgeMs)),
    ...times.rejected.map(
      (time): Hole => ({
        kind: "rejected",
        span:
          time === undefined
            ? { from: epochMs(begin), to: epochMs(Math.max(end, now)) }
            : { from: time, to: epochMs(time + 1) },
      }),
    ),
  ];
}

/**
 * The start of the time that can be answered; undefined if nothing was read. Lost time right before
 * read time counts too: its answer names the loss.
 */
export const answeredFrom = ({ coverage, lost }: LedgerTimes): EpochMs | undefined =>
  coverage.length === 0 ? undefined : union([...coverage, ...lost])[0]?.from;

/**
 * The unread time below the newest bills. A walk goes from the newest bill down. While it runs, or
 * where it was cut off, its first pages are stored, and the time between them and older coverage is
 * not read.
 */
function underNewest({ unproven }: LedgerTimes, end: EpochMs): readonly Interval[] {
  const newest = subtract(unproven, interval(Number.NEGATIVE_INFINITY, end));
  const top = newest.at(-1)?.to;
  return top === undefined ? [] : subtract(interval(end, top), newest);
}

function staleTail(
  { closedAt, unproven }: LedgerTimes,
  end: EpochMs,
  now: EpochMs,
  maxAgeMs: number,
): readonly Interval[] {
  const readTo = Math.max(end, unproven.at(-1)?.to ?? end);
  if (closedAt !== undefined) return interval(readTo, closedAt);
  return now - readTo > maxAgeMs ? interval(readTo, Number.POSITIVE_INFINITY) : [];
}

/** The parts of holes that lie within a span, oldest first. */
export const holesWithin = (holes: readonly Hole[], span: Interval): readonly Hole[] =>
  holes
    .flatMap(({ kind, span: hole }) =>
      intersect([hole], [span]).map((part): Hole => ({ kind, span: part })),
    )
    .toSorted((a, b) => a.span.from - b.span.from);
