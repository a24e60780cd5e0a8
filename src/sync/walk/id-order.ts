import type { EpochMs } from "../../contract/time.ts";

/** A row's place in the ledger. A field that broke the contract is undefined. */
export type RowPlace = { readonly billId: string | undefined; readonly cTime: EpochMs | undefined };

/** A row whose id and time could both be read. */
export type PlacedRow = { readonly billId: string; readonly cTime: EpochMs };

export const isPlaced = (row: RowPlace): row is PlacedRow =>
  row.billId !== undefined && row.cTime !== undefined;

/** Compares decimal ids of any length by their value: they exceed 2^53. */
export function compareIds(left: string, right: string): number {
  const [a, b] = [withoutZeros(left), withoutZeros(right)];
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}

const withoutZeros = (id: string): string => (id.startsWith("0") ? id.replace(/^0+(?=.)/, "") : id);

/** The lowest of the ids; undefined where there is none. */
export const lowestId = (ids: readonly string[]): string | undefined =>
  ids.reduce<string | undefined>(
    (lowest, id) => (lowest === undefined || compareIds(id, lowest) < 0 ? id : lowest),
    undefined,
  );

/** The id just beneath: asked for ids below it, an exchange leaves out the bill of that id even if it
 * includes its cursor. Undefined where there is none, or the id is no number. */
export const idBeneath = (id: string): string | undefined =>
  /^0*[1-9]\d*$/.test(id) ? String(BigInt(id) - 1n) : undefined;

/** How far the ids of a stream were seen to disagree with the times, and which of them sort its pages. */
export class IdOrder {
  #disorderMs: number;
  #isByTime = false;

  /** @param disorderMs what is known beforehand. */
  constructor(disorderMs = 0) {
    this.#disorderMs = disorderMs;
  }

  /** Whether the exchange goes on behind a cursor by times, and ids lead nowhere. */
  get isByTime(): boolean {
    return this.#isByTime;
  }

  noteByTime(): void {
    this.#isByTime = true;
  }

  /** The most by which a bill was newer than one with a higher id, ms. Bills of one millisecond are in order. */
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
