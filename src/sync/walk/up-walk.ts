import { type EpochMs, epochMs } from "../../contract/time.ts";
import type { PlacedRow } from "./id-order.ts";

/**
 * The walk from the newest page's newest bill up to the window's end. There is nothing but what came
 * meanwhile, unless the exchange's first pages are its oldest: then it reads the window.
 */
export class UpWalk {
  #newest: EpochMs | undefined;
  #hasEnded = false;

  /** Undefined where nothing was served yet. */
  get startTime(): EpochMs | undefined {
    return this.#newest;
  }

  /** Whether nothing newer was served. */
  get hasEnded(): boolean {
    return this.#hasEnded || this.#newest === undefined;
  }

  /** @param rows of the newest page. */
  begin(rows: readonly PlacedRow[]): void {
    if (this.#newest === undefined) this.#rise(rows);
  }

  take(rows: readonly PlacedRow[]): void {
    this.#hasEnded = !this.#rise(rows);
  }

  #rise(rows: readonly PlacedRow[]): boolean {
    const newest = rows.reduce((most, { cTime }) => Math.max(most, cTime), this.#newest ?? 0);
    if (newest <= (this.#newest ?? 0)) return false;
    this.#newest = epochMs(newest);
    return true;
  }
}
