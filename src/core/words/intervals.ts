import { type EpochMs, epochMs } from "../../lib/time.ts";

/** A period, half-open: `from` belongs to it, `to` does not. Never empty. */
export type Interval = { readonly from: EpochMs; readonly to: EpochMs };

/** The interval between two times, or none where it would be empty. */
export function interval(from: number, to: number): readonly Interval[] {
  return from < to ? [{ from: epochMs(from), to: epochMs(to) }] : [];
}

/** The same time as sorted intervals that neither overlap nor touch. */
export function union(intervals: readonly Interval[]): readonly Interval[] {
  const merged: Interval[] = [];
  for (const next of intervals.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || next.from > last.to) merged.push(next);
    else if (next.to > last.to) merged[merged.length - 1] = { from: last.from, to: next.to };
  }
  return merged;
}

/** The time of `wanted` that is in none of `taken`, sorted and apart. */
export function subtract(
  wanted: readonly Interval[],
  taken: readonly Interval[],
): readonly Interval[] {
  const holes = union(taken);
  return union(wanted).flatMap(({ from, to }) => {
    const rest: Interval[] = [];
    let start = from;
    for (const hole of holes) {
      if (hole.to <= start) continue;
      if (hole.from >= to) break;
      rest.push(...interval(start, hole.from));
      start = hole.to;
    }
    return [...rest, ...interval(start, to)];
  });
}

/** The time that is in both lists. */
export function intersect(a: readonly Interval[], b: readonly Interval[]): readonly Interval[] {
  return subtract(a, subtract(a, b));
}

/** Cuts an interval into pieces of at most `lengthMs`, oldest first. */
export function split({ from, to }: Interval, lengthMs: number): readonly Interval[] {
  const pieces: Interval[] = [];
  for (let start: number = from; start < to; start += lengthMs) {
    pieces.push(...interval(start, Math.min(start + lengthMs, to)));
  }
  return pieces;
}

/** Cuts an interval into so many equal parts, oldest first; fewer if it is too short. */
export const equalParts = (whole: Interval, parts: number): readonly Interval[] =>
  split(whole, Math.ceil((whole.to - whole.from) / parts));

/** The total length of the intervals, in ms. They must not overlap. */
export const lengthMs = (intervals: readonly Interval[]): number =>
  intervals.reduce((sum, { from, to }) => sum + (to - from), 0);
