import { ExchangeError } from "../../../lib/errors.ts";
import { type EpochMs, epochMs, minuteMs, secondMs } from "../../../lib/time.ts";
import type { BillsApi } from "../../contract/bills-api.ts";
import type { Interval } from "../../words/intervals.ts";
import type { ReadRows } from "../../words/page.ts";
import { edgeMarginMs, horizonAt } from "../../words/plan.ts";
import type { FetchedPage } from "../ledger-reader.ts";
import type { LedgerRun } from "../ledger-run.ts";
import type { Question } from "./answers.ts";

/** The request for one page, with the times as they are sent. */
export type PageRequest = {
  readonly startTime: EpochMs;
  readonly endTime: EpochMs;
  readonly idLessThan: string | undefined;
  readonly limit: number;
};

// The exchange may refuse even times inside its 90 days, if they are close to the edge. Then the next of
// these margins is tried.
const edgeMarginsMs = [edgeMarginMs, 3 * secondMs, 15 * secondMs, minuteMs, 10 * minuteMs] as const;
const edgeReachMs = 10 * minuteMs;

/** A page, its request, and the oldest time of the window that the exchange still served. */
export type AskedPage = FetchedPage & {
  readonly servedFrom: EpochMs;
  /** Undefined where the horizon has passed the whole window, so that nothing was asked. */
  readonly request: PageRequest | undefined;
};

/** Asks for a window's pages, and never for time older than the horizon, which moves with every page. */
export class PagesWithin90Days {
  readonly #ledger: LedgerRun;
  readonly #signal: AbortSignal;
  #margin = 0;
  #servedFrom = epochMs(0);
  #sentAt: EpochMs;

  constructor(ledger: LedgerRun, signal: AbortSignal) {
    this.#ledger = ledger;
    this.#signal = signal;
    this.#sentAt = ledger.exchangeNow();
  }

  /** When the last request was sent. */
  get sentAt(): EpochMs {
    return this.#sentAt;
  }

  /** @param window what is asked for of it; its start may be later than at the question before. */
  async ask(question: Question, window: Interval, priority = 0): Promise<AskedPage> {
    const { startTime: from = 0, endTime, idLessThan, limit } = question;
    for (; this.#margin < edgeMarginsMs.length; this.#margin++) {
      // Without the question's own start: a later start says nothing about what the exchange still serves.
      let servedAfter = 0;
      const requestNow = (): PageRequest => {
        // 1 ms wider than the window on both sides, in case the exchange excludes the bounds: from `from - 1`
        // to `to`, which is not part of the window.
        const edge = horizonAt(this.#ledger.exchangeNow(), edgeMarginsMs[this.#margin]);
        servedAfter = Math.max(window.from - 1, edge);
        return {
          startTime: epochMs(Math.max(from, servedAfter)),
          // The horizon may have passed the question's end: the oldest bill may have expired meanwhile.
          endTime: epochMs(Math.max(endTime, servedAfter + 1)),
          idLessThan,
          limit,
        };
      };
      let request = requestNow();
      if (request.startTime >= window.to) break;
      try {
        const sent = () => {
          this.#sentAt = this.#ledger.exchangeNow();
          request = requestNow();
          return request;
        };
        const page = await this.#ledger.ask(sent, this.#signal, priority);
        // On a slow network the horizon may have passed the start before the request arrived.
        const oldest = Math.max(servedAfter + 1, horizonAt(page.requestTime, 0));
        this.#servedFrom = epochMs(Math.max(this.#servedFrom, Math.min(oldest, window.to)));
        return { ...page, servedFrom: this.#servedFrom, request };
      } catch (error) {
        const isEdge = request.startTime - horizonAt(this.#ledger.exchangeNow()) < edgeReachMs;
        const isRefusal = error instanceof ExchangeError && error.kind === "time-range";
        const isLast = this.#margin === edgeMarginsMs.length - 1;
        if (!isRefusal || !isEdge || isLast) throw error;
      }
    }
    // The horizon has passed the whole window, so nothing of it can be read.
    const requestTime = this.#ledger.exchangeNow();
    const nothing = { rows: [], rowTexts: () => [], endId: undefined, requestTime };
    return { ...nothing, servedFrom: window.to, request: undefined };
  }
}

/**
 * Removes rows that were served before as they are, by the last two pages or the first one. A page overlaps its
 * neighbours, and a question for what is newer than the first page may be answered with that page's newest bill. Of
 * these pages, the last one that had the row counts: a server that lags may serve a restated bill as it was, and the
 * next one as it is.
 */
export class ServedRows {
  readonly #idOf: BillsApi["idOf"];
  /** The rows' texts by id, or by text where a row has none; the newest page first. */
  #pages: readonly ReadonlyMap<string, string>[] = [];

  constructor({ idOf }: BillsApi) {
    this.#idOf = idOf;
  }

  withoutKnown({ bills, rejected }: ReadRows): ReadRows {
    const page = new Map<string, string>();
    const isUnknown = (key: string, text: string) => {
      page.set(key, text);
      return this.#pages.find((before) => before.has(key))?.get(key) !== text;
    };
    const unknown = {
      rejected: rejected.filter(({ received, text }) =>
        isUnknown(this.#idOf(received) ?? text, text),
      ),
      bills: bills.filter((bill) => isUnknown(bill.billId, JSON.stringify(bill))),
    };
    if (page.size > 0) this.#pages = [page, ...this.#pages.slice(0, 1), ...this.#pages.slice(-1)];
    return unknown;
  }
}
