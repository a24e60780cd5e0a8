import { isUnified } from "../../src/core/contract/product-types.ts";
import { type Interval, subtract } from "../../src/core/words/intervals.ts";
import type { LedgerPlan } from "../../src/core/words/ledger.ts";
import {
  type EpochMs,
  epochMs,
  intervalMaxMs,
  isoTime,
  minuteMs,
  retentionMs,
  secondMs,
  unifiedIntervalMaxMs,
} from "../../src/lib/time.ts";
import type { History, ProcessFault } from "./history.ts";
import type { Span } from "./tables.ts";

/**
 * How far the sync's estimate of the exchange's time may be off, given what its history does to
 * clocks.
 */
export type Tolerance = {
  readonly aheadMs: number;
  readonly behindMs: number;
  /** How much later than 90 days ago the exchange's history may seem to begin. */
  readonly edgeMs: number;
};

const clockFaults = ["wrong-time", "clock-jump", "late-answer", "late-request", "drip"];
const edgeFaults = ["edge-refuses", "edge-trims", ...clockFaults];
// A signed request is accepted within 30 s of the exchange's clock. An answer's time is accepted
// within 30 s of that, plus the time that the request took, which may be a minute.
const clockOffMaxMs = 150 * secondMs;
// If the exchange refuses its oldest time, the sync asks for time up to ten minutes later.
const edgeLaterMaxMs = 10 * minuteMs;

/** Including those of the processes that faults start. */
const withNested = (faults: readonly ProcessFault[]): readonly ProcessFault[] =>
  faults.flatMap((fault) => [fault, ...(fault.kind === "verify" ? withNested(fault.process) : [])]);

/** How far the exchange's clock jumps at most, forward or back. The jumps of one step may add up. */
function furthestJumpMs(steps: History["steps"], direction: 1 | -1): number {
  const sums = steps.map((step) =>
    step.exchange
      .map((fault) => (fault.kind === "clock-jump" ? direction * fault.offMs : 0))
      .reduce((sum, jumpMs) => sum + Math.max(0, jumpMs), 0),
  );
  return Math.max(0, ...sums);
}

export function toleranceOf({ exchange, steps }: History): Tolerance {
  const processFaults = steps.flatMap(({ process }) => withNested(process));
  const exchangeFaults = steps.flatMap((step) => step.exchange.map(({ kind }) => kind as string));
  const pausedMs = processFaults.reduce(
    (sum, fault) => sum + ("forMs" in fault ? fault.forMs : 0),
    0,
  );
  // If the exchange's own clock is wrong for a while, nobody can know better.
  const jumpAheadMs = furthestJumpMs(steps, 1);
  const jumpBackMs = furthestJumpMs(steps, -1);
  const roundTripMs = 2 * (exchange.wayMs + exchange.jitterMs);
  const isClockTried = pausedMs > 0 || exchangeFaults.some((kind) => clockFaults.includes(kind));
  const isEdgeTried = isClockTried || exchangeFaults.some((kind) => edgeFaults.includes(kind));
  const offMs = roundTripMs + 2 + (isClockTried ? clockOffMaxMs : 0);
  return {
    aheadMs: offMs + jumpAheadMs,
    behindMs: offMs + jumpBackMs + pausedMs,
    edgeMs: secondMs + offMs + jumpAheadMs + (isEdgeTried ? edgeLaterMaxMs + pausedMs : 0),
  };
}

export const settleLagMs = 10 * minuteMs;

// The largest time of a Date, in either direction.
const dateMaxMs = 8.64e15;

/** For a message: a broken program may report a value that is not a time. */
export const timeText = (time: number): string =>
  Math.abs(time) <= dateMaxMs ? isoTime(epochMs(time)) : String(time);

const text = ({ from, to }: Interval): string => `${timeText(from)} to ${timeText(to)}`;

const byStart = (a: Interval, b: Interval): number => a.from - b.from || a.to - b.to;

/**
 * Finds where intervals that should be adjacent are not. Does not use the sync's own functions,
 * which may be wrong.
 */
export function seams(intervals: readonly Interval[]): readonly string[] {
  const sorted = intervals.toSorted(byStart);
  return sorted.flatMap((next, index) => {
    const before = sorted[index - 1];
    if (before === undefined || before.to === next.from) return [];
    const what = before.to < next.from ? "nothing between" : "overlap of";
    return [`${what} ${text(before)} and ${text(next)}`];
  });
}

/** The windows and the settled time that the plan leaves cover wanted time exactly once, up to now. */
export function planFaults(
  { ledger, windows, lost, uncoverFrom = epochMs(dateMaxMs) }: LedgerPlan,
  settled: readonly Span[],
  at: EpochMs,
  { aheadMs, behindMs, edgeMs }: Tolerance,
): readonly string[] {
  const spans = windows.map(({ window }) => window);
  const mostMs = isUnified(ledger.productType) ? unifiedIntervalMaxMs : intervalMaxMs;
  const left = settled
    .map(({ state, from, to }) => ({
      state,
      from,
      to: state === "covered" ? epochMs(Math.min(to, uncoverFrom)) : to,
    }))
    .filter(({ from, to }) => from < to)
    // Time that was lost to a clock that was ahead is planned again.
    .flatMap((span) => subtract([span], span.state === "lost" ? spans : []));
  const all = [...spans, ...left, ...lost].toSorted(byStart);
  const end = Math.max(...all.map(({ to }) => to));
  const start = all[0]?.from ?? Number.NaN;
  return [
    ...seams(all),
    ...spans
      .filter(({ from, to }) => to - from > mostMs - 1)
      .map((window) => `longer with its margins than may be asked for: ${text(window)}`),
    ...(end >= at - behindMs && end <= at + aheadMs
      ? []
      : [`ends at ${timeText(end)}, planned at ${timeText(at)}`]),
    ...(start <= at - retentionMs + edgeMs
      ? []
      : [`begins at ${timeText(start)}, planned at ${timeText(at)}`]),
    ...expiredTooEarly(lost, at, edgeMs),
  ];
}

/** Time that is called lost while the exchange still serves it. */
export const expiredTooEarly = (
  lost: readonly Interval[],
  at: number,
  edgeMs: number,
): readonly string[] =>
  lost
    .filter(({ to }) => to > at - retentionMs + edgeMs)
    .map((lost) => `called lost while it could still be read: ${text(lost)}`);

/** What is covered, lost, or recovered of what was once lost. */
export const settledOf = (spans: readonly Span[]): readonly Span[] =>
  wantedOf(spans).filter(({ state }) => state !== "open");

/** Without the older time that no plan ever wanted, and that tax records have recovered. */
export function wantedOf(spans: readonly Span[]): readonly Span[] {
  const first = spans.find(({ state }) => state !== "recovered");
  return spans.filter(
    ({ state, from }) => state !== "recovered" || (first !== undefined && from >= first.from),
  );
}

export const covers = (intervals: readonly Interval[], time: number): boolean =>
  intervals.some(({ from, to }) => from <= time && time < to);

/** Settled intervals do not overlap. */
export const overlaps = (intervals: readonly Interval[]): readonly string[] =>
  seams(intervals).filter((seam) => seam.startsWith("overlap"));

/** The wanted time that a run that calls itself complete left out. */
export function holesBehind(
  spans: readonly Span[],
  wanted: { readonly from: number; readonly to: number },
): readonly string[] {
  const open = spans.filter(({ state }) => state === "open");
  const settled = settledOf(spans);
  const start = Math.min(...settled.map(({ from }) => from));
  const end = Math.max(...settled.map(({ to }) => to));
  return [
    ...open.map((window) => `still open: ${text(window)}`),
    ...seams(settled),
    ...(start <= wanted.from
      ? []
      : [`settled from ${timeText(start)}, not from ${timeText(wanted.from)}`]),
    ...(end >= wanted.to ? [] : [`settled to ${timeText(end)}, not to ${timeText(wanted.to)}`]),
  ];
}
