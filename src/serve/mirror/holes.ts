import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { StreamTimes } from "../../reports/stream-times.ts";
import { type Interval, intersect, interval, subtract, union } from "../../sync/intervals.ts";

/** What the server knows of the time of a ledger. Times are the exchange's. */
export type LedgerTimes = StreamTimes & {
  /** Since when the exchange serves nothing of it any more: no bill is newer. */
  readonly closedAt: EpochMs | undefined;
  /** The times of rows that were kept, and not read; undefined of those whose time cannot be read. */
  readonly rejected: readonly (EpochMs | undefined)[];
};

/** Why a stretch of time cannot be answered. */
export type HoleKind =
  /** Older than all that was ever read. */
  | "before"
  /** The exchange deleted it before it was read. */
  | "lost"
  /** Not read, or not to its end; the next sync does it. */
  | "unread"
  /** No sync came for too long. */
  | "stale"
  /** A row of it broke the contract, and is in no answer. */
  | "rejected";

export type Hole = { readonly kind: HoleKind; readonly span: Interval };

/** Everything of a ledger's time, up to now, that an answer must not pretend to know. */
export function holesOf(
  times: LedgerTimes,
  { now, maxAgeMs }: { readonly now: EpochMs; readonly maxAgeMs: number },
): readonly Hole[] {
  const read = union([...times.coverage, ...times.settling]);
  const begin = answeredFrom(times);
  const end = read.at(-1)?.to;
  const holes = (kind: HoleKind, spans: readonly Interval[]) =>
    spans.map((span): Hole => ({ kind, span }));
  if (begin === undefined || end === undefined) {
    return holes("unread", interval(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY));
  }
  return [
    ...holes("before", interval(Number.NEGATIVE_INFINITY, begin)),
    ...holes("lost", times.expired),
    ...holes("unread", subtract(interval(begin, end), [...read, ...times.expired])),
    ...holes("unread", underNewest(times, end)),
    ...holes("stale", staleTail(times, end, now, maxAgeMs)),
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
 * From when on there is an answer; undefined where nothing was read. What was lost right before what was
 * read is answered, too: with the loss.
 */
export const answeredFrom = ({ coverage, expired }: LedgerTimes): EpochMs | undefined =>
  coverage.length === 0 ? undefined : union([...coverage, ...expired])[0]?.from;

/**
 * A walk goes from the newest bill down. While one is at work, or where it was cut off, its first pages
 * are stored, and what lies between them and the time before them is not.
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

/** What of a span an answer must not pretend to know, oldest first. */
export const holesWithin = (holes: readonly Hole[], span: Interval): readonly Hole[] =>
  holes
    .flatMap(({ kind, span: hole }) =>
      intersect([hole], [span]).map((part): Hole => ({ kind, span: part })),
    )
    .toSorted((a, b) => a.span.from - b.span.from);
