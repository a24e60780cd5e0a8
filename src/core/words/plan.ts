import { type EpochMs, epochMs, hourMs, retentionMs, secondMs } from "../../lib/time.ts";
import { billsApiOf } from "../contract/bills-api.ts";
import { type Interval, intersect, interval, split, subtract } from "./intervals.ts";
import type { KnownTime, Ledger, LedgerPlan, PlannedWindow } from "./ledger.ts";

// The oldest time that is asked for stays this far inside the exchange's 90 days, because their edge moves
// while a request is under way.
export const edgeMarginMs = secondMs;

/**
 * An interrupted first sync may be resumed this much later without a loss: time that expired meanwhile counts
 * as older than the history.
 */
export const startSlackMs = 2 * hourMs;

/** The horizon: the oldest time that can still be asked for. */
export const horizonAt = (now: EpochMs, marginMs = edgeMarginMs): EpochMs =>
  epochMs(now - retentionMs + marginMs);

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
export const settledUntil = (settleLagMs: number, ...readAt: readonly EpochMs[]): EpochMs =>
  epochMs(Math.min(...readAt) - settleLagMs);

/** The part of a begun window that its walk can still prove: the time that had settled when it began. */
function settledPart(begun: PlannedWindow, settleLagMs: number): readonly PlannedWindow[] {
  const { window, startedAt } = begun;
  if (startedAt === undefined) return [];
  const settled = interval(window.from, Math.min(window.to, settledUntil(settleLagMs, startedAt)));
  return settled.map((part) => ({ ...begun, window: part }));
}

type PlanOptions = {
  /** The exchange's time. */
  readonly now: EpochMs;
  readonly settleLagMs: number;
  /** The times of bills that the exchange has shown and that are not stored: they are read again. Default none. */
  readonly unstored?: readonly EpochMs[];
};

/**
 * Plans the windows that make a ledger complete up to now. The wanted time less the coverage is cut into windows,
 * oldest first. A window that an earlier run began is resumed at its cursor. Its newest time, which was still
 * settling when it began, is planned anew, and all of it where the exchange has shown a bill of it that is not stored:
 * the bill may lie above the cursor, where the earlier run was not served it.
 */
export function planLedger(
  ledger: Ledger,
  known: KnownTime,
  { now, settleLagMs, unstored = [] }: PlanOptions,
): LedgerPlan {
  const { windowMaxMs } = billsApiOf(ledger.productType);
  const horizon = horizonAt(now);
  const start = ledgerStart(known, horizon);
  const readAgainFrom = Math.min(now, ...unstored.filter((time) => time >= horizon));
  const uncoverFrom = epochMs(Math.min(settledUntil(settleLagMs, now), readAgainFrom));
  const coverage = known.coverage.flatMap(({ from, to }) =>
    interval(from, Math.min(to, uncoverFrom)),
  );
  // Lost time is read after all where it is within the horizon: the exchange's clock was hours ahead in an earlier run.
  const gone = intersect([...known.lost, ...(known.recovered ?? [])], interval(start, horizon));
  const wanted = subtract(interval(start, now), [...coverage, ...gone]);
  const isStartOpen = wanted[0]?.from === start;
  // Measured from the first plan's start, so that the slack of several plans does not add up.
  const reach = isStartOpen && horizon - start <= startSlackMs ? start : horizon;
  const unread = intersect(wanted, interval(reach, now));
  const begun = known.open
    .flatMap((one) => settledPart(one, settleLagMs))
    .filter(({ window }) => window.to <= readAgainFrom);
  const resumed = resumable(begun, unread, horizon);
  const fresh = subtract(
    unread,
    resumed.map(({ window }) => window),
  ).flatMap((span) => split(span, windowMaxMs));
  return {
    ledger,
    plannedAt: now,
    windows: [
      ...resumed.map((one) => ({ ...one, isLedgerStart: one.window.from <= start })),
      ...fresh.map((window) => ({ window, isLedgerStart: window.from === start })),
    ].toSorted((a, b) => a.window.from - b.window.from),
    lost: subtract(wanted, [
      ...interval(reach, now),
      // The lost part of a resumed window is recorded when its walk ends.
      ...resumed.map(({ window }) => window),
    ]),
    uncoverFrom: known.coverage.some(({ to }) => to > uncoverFrom) ? uncoverFrom : undefined,
  };
}

/** How far a ledger was read. */
export type ReadTime = {
  /** The first time that is neither read, lost nor recovered; undefined before anything is complete. */
  readonly through: EpochMs | undefined;
  /** The time that was not read, or not proven complete. */
  readonly unread: readonly Interval[];
};

/** @param end the exchange's time now, or when the ledger ended. */
export function readTime(known: KnownTime, end: EpochMs): ReadTime {
  const accountedFor = [...known.coverage, ...known.lost, ...(known.recovered ?? [])];
  const unread = subtract(interval(ledgerStart(known, horizonAt(end)), end), accountedFor);
  const through = unread[0]?.from ?? end;
  const isBegun = known.coverage.some(({ from }) => from < through);
  return { through: isBegun ? through : undefined, unread };
}

/** The start of a ledger's history: the oldest time that was ever planned, or the horizon if that is older. */
export function ledgerStart({ coverage, lost, open }: KnownTime, horizon: EpochMs): EpochMs {
  const known = [...coverage, ...lost, ...open.map(({ window }) => window)];
  return epochMs(Math.min(horizon, ...known.map(({ from }) => from)));
}

/** Whether a ledger was never read. */
export const isNeverRead = ({ coverage, lost, open }: KnownTime): boolean =>
  coverage.length === 0 &&
  lost.length === 0 &&
  open.every(({ startedAt }) => startedAt === undefined);

/** The begun windows that can be resumed: all their time that has not expired is still wanted. */
function resumable(
  open: readonly PlannedWindow[],
  unread: readonly Interval[],
  horizon: EpochMs,
): readonly PlannedWindow[] {
  const taken: Interval[] = [];
  return open.filter(({ window, cursor }) => {
    const reachable = interval(Math.max(window.from, horizon), window.to);
    const wanted =
      cursor !== undefined &&
      reachable.length > 0 &&
      subtract(reachable, unread).length === 0 &&
      intersect(reachable, taken).length === 0;
    if (wanted) taken.push(window);
    return wanted;
  });
}
