import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { PlacedRow } from "./id-order.ts";

/** Time without a known bill: from behind `from` to before `to`. */
type Gap = { readonly from: number; readonly to: number };

/**
 * The questions about the time between known bills. An answer to a question by time alone holds a bill if
 * there is one, whatever decides the pages' order and however short they are. So these questions prove
 * that a window was read where nothing is known of the pages, at the price of one question a bill.
 */
export class GapWalk {
  readonly #gaps: Gap[];
  // The bills at a gap's bounds may be served with it, and may fill a tiny page: then without them.
  #isStartIncluded = false;
  #isEndIncluded = false;

  /**
   * @param times of all known bills.
   * @param to where the last gap ends.
   * @param all whether to ask for all gaps, or for that behind the newest bill only.
   */
  constructor(times: Iterable<number>, to: EpochMs, all: boolean) {
    const sorted = [...times].filter((time) => time < to).sort((a, b) => a - b);
    const ends = [...sorted.slice(1), to as number];
    const gaps = sorted.map((from, place): Gap => ({ from, to: ends[place] ?? to }));
    this.#gaps = gaps.slice(all ? 0 : -1).filter((gap) => gap.to - gap.from > 1);
  }

  /** Undefined where no gap is left. */
  get next(): { readonly startTime: EpochMs; readonly endTime: EpochMs } | undefined {
    const gap = this.#gaps[0];
    if (gap === undefined) return undefined;
    return {
      startTime: epochMs(gap.from + Number(this.#isStartIncluded)),
      endTime: epochMs(gap.to - Number(this.#isEndIncluded)),
    };
  }

  /** @returns an unknown bill that lies in the gap. */
  take(rows: readonly PlacedRow[]): PlacedRow | undefined {
    const [gap] = this.#gaps;
    if (gap === undefined) return undefined;
    const found = rows.find(({ cTime }) => cTime > gap.from && cTime < gap.to);
    if (found !== undefined) return found;
    const startsIn = !this.#isStartIncluded && rows.some(({ cTime }) => cTime === gap.from);
    const endsIn = !this.#isEndIncluded && rows.some(({ cTime }) => cTime === gap.to);
    this.#isStartIncluded ||= startsIn;
    this.#isEndIncluded ||= endsIn;
    if (!startsIn && !endsIn) this.#gaps.shift();
    return undefined;
  }
}
