import type { BillPage } from "../contract/account-bills.ts";
import { type Bill, readBill } from "../contract/bill.ts";
import { type EpochMs, epochMs, isoTime, minuteMs, secondMs } from "../contract/time.ts";
import { CursorError, ExchangeError } from "../errors.ts";
import { printableLine } from "../printable.ts";
import { type Interval, interval, lengthMs } from "./intervals.ts";
import { edgeMarginMs, horizonAt, startSlackMs } from "./plan.ts";
import type { PageCommit, PageCounts, RejectedRow, Stream, Walk, WalkEnd } from "./store.ts";
import { cursorBehind, strayBill } from "./unbelievable-pages.ts";

/** What is asked of the exchange for one page: times as they are sent, both ends included. */
export type PageRequest = {
  readonly startTime: EpochMs;
  readonly endTime: EpochMs;
  readonly idLessThan: string | undefined;
};

/** A page, and the exchange's time when it was put together. */
export type FetchedPage = BillPage & {
  readonly requestTime: EpochMs;
  /** Each row as it was written: only asked for where one cannot be read. */
  readonly rowTexts: () => readonly string[];
};

export type WalkDeps = {
  /** Calls for the request when its turn at the exchange has come, and again for a retry. */
  readonly fetchPage: (request: () => PageRequest) => Promise<FetchedPage>;
  readonly commitPage: (page: PageCommit) => Promise<PageCounts>;
  readonly exchangeNow: () => EpochMs;
  /** The exchange's time when the run was planned. */
  readonly plannedAt: EpochMs;
  /** The newest stretch that is stored but not yet called complete. */
  readonly settleLagMs: number;
  readonly onPage: (progress: PageProgress) => void;
  /** Called after each page but the last; may leave the older part of what is left to other walks. */
  readonly divide?: Divide;
  /** Ends the walk between two pages. */
  readonly signal: AbortSignal;
};

/**
 * @param oldest nothing that was read so far is older; below it lies what is left.
 * @param bills how many the page had.
 * @returns the window that stays this walk's: its newer part, or all of it.
 */
export type Divide = (window: Interval, oldest: EpochMs, bills: number) => Promise<Interval>;

export type PageProgress = {
  readonly window: Interval;
  readonly counts: PageCounts;
  /** How much of the window's time is now behind the walk, in ms. */
  readonly walkedMs: number;
  readonly finished: boolean;
};

// 10 million bills in a week. The bound is there for an exchange that never ends a window.
const pagesPerWindowMax = 100_000;

// Where the exchange refuses the oldest time that its 90 days should hold, these are tried.
const edgeMarginsMs = [edgeMarginMs, 3 * secondMs, 15 * secondMs, minuteMs, 10 * minuteMs] as const;
const edgeReachMs = 10 * minuteMs;

/**
 * Reads a window from its newest bill to its oldest, page by page, each committed with its
 * cursor. Only an empty page, or one without a cursor, ends it: a short page proves nothing.
 *
 * @throws CursorError when the cursor stands still, comes back or is not of its page;
 *   ExchangeError, also for a page of another time; whatever `commitPage` throws; the signal's reason.
 */
export async function walkWindow(deps: WalkDeps, stream: Stream, walk: Walk): Promise<void> {
  let startedAt = walk.startedAt ?? deps.exchangeNow();
  let { window, cursor, isHistoryStart = false } = walk;
  let fetchPage = edgeAwareFetch(deps, window);
  let oldest = window.to;
  const cursors = new Set([cursor]);
  for (let pages = 0; pages < pagesPerWindowMax; pages++) {
    deps.signal.throwIfAborted();
    const { readFrom, request, ...fetched } = await fetchPage(cursor);
    const { rows, endId, requestTime } = fetched;
    // Our reckoning of the exchange's time may be ahead of it by half a round trip.
    if (walk.startedAt === undefined && pages === 0) {
      startedAt = epochMs(Math.min(startedAt, requestTime));
    }
    const finished = rows.length === 0 || endId === undefined;
    const read = readRows(fetched);
    const { bills, rejected } = read;
    const stray = request && strayBill(read, request);
    if (stray !== undefined) {
      throw new ExchangeError(
        "malformed",
        `the page is of another time: ${stray}; it was not taken in, run again`,
      );
    }
    // By the earliest of three times: answers may have set the clock forth and back meanwhile.
    const seenTimes = [deps.plannedAt, startedAt, deps.exchangeNow()];
    const settledTo = epochMs(Math.min(...seenTimes) - deps.settleLagMs);
    const behind = finished ? undefined : cursorBehind(endId, read, cursor, cursors);
    const goesOnAt = behind && "cursor" in behind ? behind.cursor : undefined;
    const next = finished
      ? { end: endOf({ window, isHistoryStart }, readFrom, settledTo) }
      : { cursor: goesOnAt };
    const page = { stream, window, startedAt, after: cursor, bills, rejected, next };
    const counts = await deps.commitPage(page);
    const walkedMs = finished ? lengthMs([window]) : walkedTo(window, bills);
    deps.onPage({ window, counts, finished, walkedMs });
    if (finished) return;
    if (behind && "fault" in behind) {
      throw new CursorError(
        `the exchange's cursor ${printableLine(endId)} ${behind.fault} in ${nameOf(stream, window)}; ` +
          "the window counts as not read, whatever came of its bills so far; run again",
      );
    }
    cursors.add(goesOnAt);
    cursor = goesOnAt;
    oldest = epochMs(Math.min(oldest, oldestOf(bills)));
    const left = await deps.divide?.(window, oldest, bills.length);
    if (left === undefined || left.from === window.from) continue;
    // The older part is another walk's now, and with it where the history starts.
    window = left;
    isHistoryStart = false;
    fetchPage = edgeAwareFetch(deps, window);
  }
  throw new CursorError(
    `${nameOf(stream, window)} did not end within ${pagesPerWindowMax} pages; ` +
      "run again to go on",
  );
}

/** Fetches pages whose oldest time keeps clear of the horizon, which moves with every page. */
function edgeAwareFetch({ fetchPage, exchangeNow }: WalkDeps, window: Interval) {
  let margin = 0;
  let readFrom = window.from;
  return async (idLessThan: string | undefined) => {
    for (; margin < edgeMarginsMs.length; margin++) {
      const requestNow = (): PageRequest => {
        // One millisecond more on both sides: `to` is the millisecond after the last.
        const edge = horizonAt(exchangeNow(), edgeMarginsMs[margin]);
        const startTime = epochMs(Math.max(window.from - 1, edge));
        return { startTime, endTime: window.to, idLessThan };
      };
      let request = requestNow();
      if (request.startTime >= window.to) break;
      try {
        const page = await fetchPage(() => {
          request = requestNow();
          return request;
        });
        // On a slow way the horizon may have passed the start before the request was taken.
        const servedFrom = Math.max(request.startTime + 1, horizonAt(page.requestTime, 0));
        readFrom = epochMs(Math.max(readFrom, Math.min(servedFrom, window.to)));
        return { ...page, readFrom, request };
      } catch (error) {
        const isEdge = request.startTime - horizonAt(exchangeNow()) < edgeReachMs;
        const isRefusal = error instanceof ExchangeError && error.kind === "time-range";
        if (!isRefusal || !isEdge || margin === edgeMarginsMs.length - 1) throw error;
      }
    }
    // The horizon has passed the whole window.
    const nothing = { rows: [], rowTexts: () => [], endId: undefined, requestTime: exchangeNow() };
    return { ...nothing, readFrom: window.to, request: undefined };
  };
}

function readRows({ rows, rowTexts }: FetchedPage): { bills: Bill[]; rejected: RejectedRow[] } {
  const bills: Bill[] = [];
  const rejected: RejectedRow[] = [];
  let texts: readonly string[] | undefined;
  for (const [place, row] of rows.entries()) {
    const reading = readBill(row);
    if ("bill" in reading) bills.push(reading.bill);
    else {
      texts ??= rowTexts();
      const text = texts[place] ?? JSON.stringify(row);
      rejected.push({ received: row, text, fault: reading.fault });
    }
  }
  return { bills, rejected };
}

/** What a finished walk may claim: the time it read, but for what may still get late bills. */
function endOf(
  { window, isHistoryStart = false }: Pick<Walk, "window" | "isHistoryStart">,
  readFrom: EpochMs,
  settledTo: EpochMs,
): WalkEnd {
  const isStart = isHistoryStart && readFrom - window.from <= startSlackMs;
  return {
    proven: interval(readFrom, Math.min(window.to, settledTo)),
    expired: isStart ? [] : interval(window.from, Math.min(readFrom, window.to)),
  };
}

/** Without a spread: an exchange may send more rows than a call takes arguments. */
const oldestOf = (bills: readonly Bill[]): number =>
  bills.reduce((oldest, { cTime }) => Math.min(oldest, cTime), Number.POSITIVE_INFINITY);

/** How much of the window lies above the oldest bill so far, in ms. */
function walkedTo(window: Interval, bills: readonly Bill[]): number {
  const oldest = Math.min(window.to, oldestOf(bills));
  return window.to - Math.max(window.from, oldest);
}

const nameOf = ({ account, productType }: Stream, { from, to }: Interval): string =>
  `${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`;
