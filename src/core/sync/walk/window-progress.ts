import { type EpochMs, epochMs } from "../../../lib/time.ts";
import type { Bill } from "../../contract/bill.ts";
import { equalParts, type Interval, interval } from "../../words/intervals.ts";
import type { PlannedWindow } from "../../words/ledger.ts";
import { keptPart } from "../../words/page.ts";

// How many pages are left is estimated by the time that so many pages covered.
const pagesAveraged = 4;

/** The window of a walk, of which it may hand back the older part, and how far it was walked. */
export class WindowProgress {
  #window: Interval;
  #asked: Interval;
  #isLedgerStart: boolean;
  /** The oldest time after each of the last pages. */
  #depths: readonly EpochMs[];

  constructor({ window, isLedgerStart = false, askFrom = window.from }: PlannedWindow) {
    this.#window = window;
    this.#asked = { from: askFrom, to: window.to };
    this.#isLedgerStart = isLedgerStart;
    this.#depths = [window.to];
  }

  get window(): Interval {
    return this.#window;
  }

  /** What is asked for: the window, and older time that was handed back. */
  get asked(): Interval {
    return this.#asked;
  }

  /** Asks for the window alone from now on. */
  askNoOlder(): void {
    this.#asked = this.#window;
  }

  get isLedgerStart(): boolean {
    return this.#isLedgerStart;
  }

  get #oldest(): EpochMs {
    return this.#depths.at(-1) ?? this.#window.to;
  }

  /** How much of the window is newer than the oldest bill so far, in ms. */
  get walkedMs(): number {
    return this.#window.to - Math.max(this.#window.from, this.#oldest);
  }

  /** Notes a page. Not `Math.min(...times)`: an exchange may send more rows than a call can take arguments. */
  descend(bills: readonly Bill[]): void {
    let depth: number = this.#oldest;
    for (const { cTime } of bills) depth = Math.min(depth, cTime);
    this.#depths = [...this.#depths, epochMs(depth)].slice(-1 - pagesAveraged);
  }

  /** How many pages seem to be left: none if no bill was served yet. */
  get pagesLeft(): number {
    const [first = 0, ...others] = this.#depths;
    const leftMs = this.#oldest - this.#window.from;
    if (this.#oldest === this.#window.to || leftMs <= 0) return 0;
    return leftMs / ((first - this.#oldest) / others.length);
  }

  /** Divides what is left into so many parts. @returns all but the newest, which stays with this walk. */
  divide(parts: number): readonly PlannedWindow[] {
    const [left] = interval(this.#window.from, this.#oldest);
    if (left === undefined || parts === 1) return [];
    return equalParts(left, parts)
      .slice(0, -1)
      .map((window, index) => ({
        window,
        isLedgerStart: this.#isLedgerStart && index === 0,
        askFrom: this.#asked.from,
      }));
  }

  /** Leaves these windows to other walks. */
  handBack(windows: readonly PlannedWindow[]): void {
    if (windows.length === 0) return;
    const handedBack = windows.map(({ window }) => window);
    this.#window = keptPart(this.#window, handedBack);
    this.#isLedgerStart = false;
  }
}
