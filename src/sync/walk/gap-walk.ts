import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { PlacedRow } from "./id-order.ts";

/** Time without a known bill: after `from` and before `to`. */
type Gap = { readonly from: number; readonly to: number };

/**
 * The questions about the time between known bills. If there is a bill in the time that is asked for, the
 * answer has one, however the exchange sorts its pages and however short it makes them. So these questions
 * prove that a window was read even where nothing is known about the pages. The price is one question per bill.
 */
export class GapWalk {
  readonly #gaps: Gap[];
  // The bills at a gap's bounds may be served as well, and fill a tiny page. The gap is then asked for again
  // without these bounds.
  #isStartIncluded = false;
  #isEndIncluded = false;

  /**
   * @param times the times of the known bills.
   * @param to the end of the last gap.
   * @param all whether to ask for all gaps, or only for the gap after the newest bill.
   */
  constructor(times: Iterable<number>, to: EpochMs, all: boolean) {
    const sorted = [...times].filter((time) => time < to).sort((a, b) => a - b);
    const ends = [...sorted.slice(1), to as number];
    const gaps = sorted.map((from, place): Gap => ({ from, to: ends[place] ?? to }));
    this.#gaps = gaps.slice(all ? 0 : -1).filter((gap) => gap.to - gap.from > 1);
  }

  /** The next question; undefined where no gap is left. */
  get next(): { readonly startTime: EpochMs; readonly endTime: EpochMs } | undefined {
    const gap = this.#gaps[0];
    if (gap === undefined) return undefined;
    return {
      startTime: epochMs(gap.from + Number(this.#isStartIncluded)),
      endTime: epochMs(gap.to - Number(this.#isEndIncluded)),
    };
  }

  /**
   * Takes the answer to the question.
   * @param mayBeCut whether the page may have had no room for more rows.
   * @returns an unknown bill that lies in the gap.
   */
  take(rows: readonly PlacedRow[], mayBeCut: boolean): PlacedRow | undefined {
    const [gap] = this.#gaps;
    if (gap === undefined) return undefined;
    const found = rows.find(({ cTime }) => cTime > gap.from && cTime < gap.to);
    if (found !== undefined) return found;
    const startsIn =
      mayBeCut && !this.#isStartIncluded && rows.some(({ cTime }) => cTime === gap.from);
    const endsIn = mayBeCut && !this.#isEndIncluded && rows.some(({ cTime }) => cTime === gap.to);
    this.#isStartIncluded ||= startsIn;
    this.#isEndIncluded ||= endsIn;
    if (!startsIn && !endsIn) this.#gaps.shift();
    return undefined;
  }
}
