import { type EpochMs, epochMs, minuteMs, secondMs } from "../../contract/time.ts";
import { ExchangeError } from "../../errors.ts";
import type { Interval } from "../intervals.ts";
import { edgeMarginMs, horizonAt } from "../plan.ts";
import type { FetchedPage, FetchPage, PageRequest } from "./page-request.ts";
import type { Question } from "./window-end.ts";

// The exchange may refuse even times inside its 90 days, if they are close to the edge. Then the next of
// these margins is tried.
const edgeMarginsMs = [edgeMarginMs, 3 * secondMs, 15 * secondMs, minuteMs, 10 * minuteMs] as const;
const edgeReachMs = 10 * minuteMs;

/** A page, its request, and the oldest time of the window that the exchange still served. */
export type EdgePage = FetchedPage & {
  readonly readFrom: EpochMs;
  /** Undefined where the horizon has passed the whole window, so that nothing was asked. */
  readonly request: PageRequest | undefined;
};

/** Fetches a window's pages. It never asks for time older than the horizon, which moves with every page. */
export function edgeAwareFetch(
  {
    fetchPage,
    exchangeNow,
  }: { readonly fetchPage: FetchPage; readonly exchangeNow: () => EpochMs },
  window: Interval,
) {
  let margin = 0;
  let readFrom = window.from;
  return async (question: Question): Promise<EdgePage> => {
    const { startTime: from = 0, endTime, idLessThan, limit } = question;
    for (; margin < edgeMarginsMs.length; margin++) {
      // Without the question's own start: a later start says nothing about what the exchange still serves.
      let servedAfter = 0;
      const requestNow = (): PageRequest => {
        // 1 ms wider than the window on both sides, in case the exchange excludes the bounds: from `from - 1`
        // to `to`, which is not part of the window.
        const edge = horizonAt(exchangeNow(), edgeMarginsMs[margin]);
        servedAfter = Math.max(window.from - 1, edge);
        const startTime = epochMs(Math.max(from, servedAfter));
        // The horizon may have passed the question's end: the oldest bill may have expired meanwhile.
        return {
          startTime,
          endTime: epochMs(Math.max(endTime, servedAfter + 1)),
          idLessThan,
          limit,
        };
      };
      let request = requestNow();
      if (request.startTime >= window.to) break;
      try {
        const page = await fetchPage(() => {
          request = requestNow();
          return request;
        });
        // On a slow network the horizon may have passed the start before the request arrived.
        const servedFrom = Math.max(servedAfter + 1, horizonAt(page.requestTime, 0));
        readFrom = epochMs(Math.max(readFrom, Math.min(servedFrom, window.to)));
        return { ...page, readFrom, request };
      } catch (error) {
        const isEdge = request.startTime - horizonAt(exchangeNow()) < edgeReachMs;
        const isRefusal = error instanceof ExchangeError && error.kind === "time-range";
        if (!isRefusal || !isEdge || margin === edgeMarginsMs.length - 1) throw error;
      }
    }
    // The horizon has passed the whole window, so nothing of it can be read.
    const nothing = { rows: [], rowTexts: () => [], endId: undefined, requestTime: exchangeNow() };
    return { ...nothing, readFrom: window.to, request: undefined };
  };
}
