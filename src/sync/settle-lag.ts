import { type EpochMs, epochMs } from "../contract/time.ts";
import { interval } from "./intervals.ts";
import type { Walk } from "./store.ts";

/*
 * A late bill shows up at the exchange after its own time. The settle lag, 10 minutes unless set, is for such bills:
 *
 * - The newest time that a walk read is stored, but only what had settled becomes coverage. The rest is settling.
 * - A run plans all time that is not covered. So it reads the settling time of the run before again, and with it
 *   the bills that came late.
 * - `verify` finds the bills that are later than the settle lag.
 */

/**
 * The time up to which a walk proves what it read.
 * @param readAt times of the exchange at which the newest time was read. The earliest counts, since answers may
 *   move the clock both ways.
 */
export const settledTo = (settleLagMs: number, ...readAt: readonly EpochMs[]): EpochMs =>
  epochMs(Math.min(...readAt) - settleLagMs);

/** The part of a begun walk that it can still prove: what had settled when it began. */
export function settledPart(walk: Walk, settleLagMs: number): readonly Walk[] {
  const { window, startedAt } = walk;
  if (startedAt === undefined) return [];
  const settled = interval(window.from, Math.min(window.to, settledTo(settleLagMs, startedAt)));
  return settled.map((part) => ({ ...walk, window: part }));
}
