import { type EpochMs, epochMs } from "../contract/time.ts";
import { interval } from "./intervals.ts";
import type { Walk } from "./store.ts";

/*
 * A late bill shows up at the exchange after its own time. The settle lag, 10 minutes unless set, is for such bills:
 *
 * - The bills of the newest time are stored, but only time that is older than the settle lag becomes coverage.
 *   The rest is still settling.
 * - A run plans all time that is not covered. So it reads the settling time of the previous run again, including
 *   the bills that came late.
 * - Bills that come later than the settle lag are found by `verify`.
 */

/**
 * The end of the time that a walk proves complete.
 * @param readAt readings of the exchange's clock before and after the newest page was read. The earliest counts,
 *   since answers may move the clock in both directions.
 */
export const settledTo = (settleLagMs: number, ...readAt: readonly EpochMs[]): EpochMs =>
  epochMs(Math.min(...readAt) - settleLagMs);

/** The part of a begun walk that it can still prove: the time that had settled when the walk began. */
export function settledPart(walk: Walk, settleLagMs: number): readonly Walk[] {
  const { window, startedAt } = walk;
  if (startedAt === undefined) return [];
  const settled = interval(window.from, Math.min(window.to, settledTo(settleLagMs, startedAt)));
  return settled.map((part) => ({ ...walk, window: part }));
}
