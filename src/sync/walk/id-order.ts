import { compareIds } from "../../contract/compare-ids.ts";
import type { EpochMs } from "../../contract/time.ts";

/** A row's id and time. A field that broke the contract is undefined. */
export type RowPlace = { readonly billId: string | undefined; readonly cTime: EpochMs | undefined };

/** A row whose id and time could both be read. */
export type PlacedRow = { readonly billId: string; readonly cTime: EpochMs };

export const isPlaced = (row: RowPlace): row is PlacedRow =>
  row.billId !== undefined && row.cTime !== undefined;

/** The lowest of the ids; undefined where there are none. */
export const lowestId = (ids: readonly string[]): string | undefined =>
  ids.reduce<string | undefined>(
    (lowest, id) => (lowest === undefined || compareIds(id, lowest) < 0 ? id : lowest),
    undefined,
  );

/**
 * The next lower id. With it as the cursor, an exchange leaves out the bill of `id` even if it includes
 * the cursor's own bill. Undefined where `id` is zero or not a number.
 */
export const idBeneath = (id: string): string | undefined =>
  /^0*[1-9]\d*$/.test(id) ? String(BigInt(id) - 1n) : undefined;

/** How far a stream's ids were seen to disagree with its times, and whether its pages go on by id or by time. */
export class IdOrder {
  #disorderMs: number;
  #isByTime = false;

  /** @param disorderMs the disorder that is known beforehand. */
  constructor(disorderMs = 0) {
    this.#disorderMs = disorderMs;
  }

  /** Whether the exchange continues after a cursor by time, so that cursors made from ids lead nowhere. */
  get isByTime(): boolean {
    return this.#isByTime;
  }

  noteByTime(): void {
    this.#isByTime = true;
  }

  /** The most by which a bill was newer than one with a higher id, ms. Bills of one millisecond count as in order. */
  get disorderMs(): number {
    return this.#disorderMs;
  }

  look(rows: readonly PlacedRow[]): void {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { cTime } of rows.toSorted((a, b) => compareIds(a.billId, b.billId))) {
      this.#disorderMs = Math.max(this.#disorderMs, newest - cTime);
      newest = Math.max(newest, cTime);
    }
  }
}
