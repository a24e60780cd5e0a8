import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { PlacedRow } from "./answers.ts";

/** Time without a known bill: after `from` and before `to`. */
type Span = { readonly from: number; readonly to: number };

/**
 * The questions about the time between known bills. If there is a bill in the time that is asked for, the
 * answer has one, however the exchange sorts its pages and however short it makes them. So these questions
 * prove that a window was read even where nothing is known about the pages. The price is one question per bill.
 */
export class TimeBetween {
  readonly #spans: Span[];
  // The bills at a span's bounds may be served as well, and fill a tiny page. The span is then asked for again
  // without these bounds.
  #isStartIncluded = false;
  #isEndIncluded = false;

  /**
   * @param times the times of the known bills.
   * @param to the end of the last span.
   * @param all whether to ask for all spans, or only for the span after the newest bill.
   */
  constructor(times: Iterable<number>, to: EpochMs, all: boolean) {
    const sorted = [...times].filter((time) => time < to).sort((a, b) => a - b);
    const ends = [...sorted.slice(1), to as number];
    const spans = sorted.map((from, place): Span => ({ from, to: ends[place] ?? to }));
    this.#spans = spans.slice(all ? 0 : -1).filter(({ from, to }) => to - from > 1);
  }

  /** The next question; undefined where no span is left. */
  get next(): { readonly startTime: EpochMs; readonly endTime: EpochMs } | undefined {
    const span = this.#spans[0];
    if (span === undefined) return undefined;
    return {
      startTime: epochMs(span.from + Number(this.#isStartIncluded)),
      endTime: epochMs(span.to - Number(this.#isEndIncluded)),
    };
  }

  /**
   * Takes the answer to the question.
   * @param mayBeCut whether the page may have had no room for more rows.
   * @returns an unknown bill that lies in the span.
   */
  take(rows: readonly PlacedRow[], mayBeCut: boolean): PlacedRow | undefined {
    const [span] = this.#spans;
    if (span === undefined) return undefined;
    const unread = rows.find(({ cTime }) => cTime > span.from && cTime < span.to);
    if (unread !== undefined) return unread;
    const startsIn =
      mayBeCut && !this.#isStartIncluded && rows.some(({ cTime }) => cTime === span.from);
    const endsIn = mayBeCut && !this.#isEndIncluded && rows.some(({ cTime }) => cTime === span.to);
    this.#isStartIncluded ||= startsIn;
    this.#isEndIncluded ||= endsIn;
    if (!startsIn && !endsIn) this.#spans.shift();
    return undefined;
  }
}
