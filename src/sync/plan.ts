import { billsApiOf } from "../contract/bills-api.ts";
import { type EpochMs, epochMs, historyMs, hourMs, secondMs } from "../contract/time.ts";
import { cutAt, type Interval, intersect, interval, split, subtract } from "./intervals.ts";
import type { KnownTime, Stream, StreamPlan, Walk } from "./store.ts";

// The oldest time that is asked for stays this far inside the exchange's 90 days: the edge
// moves while a request is on its way.
export const edgeMarginMs = secondMs;

/**
 * A first sync that was interrupted may be taken up so much later: what the horizon took meanwhile
 * is no loss, the history starts behind it.
 */
export const startSlackMs = 2 * hourMs;

/** The oldest time that can still be asked for. */
export const horizonAt = (now: EpochMs, marginMs = edgeMarginMs): EpochMs =>
  epochMs(now - historyMs + marginMs);

/**
 * What to walk so that a stream is complete up to now: wanted time less coverage, in windows,
 * oldest first. A window that an earlier run began is taken up at its cursor, up to the time
 * that was settled when it was begun: what is newer is read anew.
 */
export function planStream(
  stream: Stream,
  known: KnownTime,
  { now, settleLagMs }: { readonly now: EpochMs; readonly settleLagMs: number },
): StreamPlan {
  const { windowMaxMs } = billsApiOf(stream.productType);
  const horizon = horizonAt(now);
  const start = historyStart(known, horizon);
  const wanted = subtract(interval(start, now), [...known.coverage, ...known.expired]);
  const isStartOpen = wanted[0]?.from === start;
  // Planned from where it was wanted first: plan after plan, the slack does not add up.
  const reach = isStartOpen && horizon - start <= startSlackMs ? start : horizon;
  const gaps = intersect(wanted, interval(reach, now));
  const begun = known.open.flatMap((walk) => settledPart(walk, settleLagMs));
  const resumed = resumable(begun, gaps, horizon);
  const fresh = subtract(
    gaps,
    resumed.map(({ window }) => window),
  ).flatMap((gap) => split(gap, windowMaxMs));
  return {
    stream,
    walks: [
      ...resumed.map((walk) => ({ ...walk, isHistoryStart: walk.window.from <= start })),
      ...fresh.map((window) => ({ window, isHistoryStart: window.from === start })),
    ].toSorted((a, b) => a.window.from - b.window.from),
    expired: subtract(wanted, [
      ...interval(reach, now),
      // A window that is under way expires at its end, by what it could not read any more.
      ...resumed.map(({ window }) => window),
    ]),
  };
}

/**
 * What becomes of a walk whose window, or what it kept of that before, is cut at these times: the
 * newest part stays its own, the older ones are walks that are yet to begin. The history starts
 * where it did: what is lost at the old end of any other part is a loss.
 */
export function dividedWalk(
  { window: planned, isHistoryStart = false }: Walk,
  window: Interval,
  cuts: readonly EpochMs[],
): { readonly kept: Interval; readonly older: readonly Walk[] } {
  const parts = cutAt(window, cuts);
  return {
    kept: parts.at(-1) ?? window,
    older: parts.slice(0, -1).map((part) => ({
      window: part,
      isHistoryStart: isHistoryStart && part.from === planned.from,
    })),
  };
}

/** Up to when nothing is missing but what expired; undefined before anything is complete. */
export function completeThrough(known: KnownTime, now: EpochMs): EpochMs | undefined {
  const start = historyStart(known, horizonAt(now));
  const settled = [...known.coverage, ...known.expired];
  const firstGap = subtract(interval(start, now), settled)[0]?.from ?? now;
  return known.coverage.some(({ from }) => from < firstGap) ? firstGap : undefined;
}

/** Where a stream's history starts: with the oldest time that was ever planned, or at the horizon. */
export function historyStart({ coverage, expired, open }: KnownTime, horizon: EpochMs): EpochMs {
  const known = [...coverage, ...expired, ...open.map(({ window }) => window)];
  return epochMs(Math.min(horizon, ...known.map(({ from }) => from)));
}

/** What the rest of a begun walk can prove: no more than was settled when it began. */
function settledPart(walk: Walk, settleLagMs: number): readonly Walk[] {
  const { window, startedAt } = walk;
  if (startedAt === undefined) return [];
  const settled = interval(window.from, Math.min(window.to, startedAt - settleLagMs));
  return settled.map((part) => ({ ...walk, window: part }));
}

/** The begun windows that are still wanted as a whole, but for what the horizon took of them. */
function resumable(
  open: readonly Walk[],
  gaps: readonly Interval[],
  horizon: EpochMs,
): readonly Walk[] {
  const taken: Interval[] = [];
  return open.filter(({ window, cursor }) => {
    const reachable = interval(Math.max(window.from, horizon), window.to);
    const wanted =
      cursor !== undefined &&
      reachable.length > 0 &&
      subtract(reachable, gaps).length === 0 &&
      intersect(reachable, taken).length === 0;
    if (wanted) taken.push(window);
    return wanted;
  });
}
