import { type EpochMs, secondMs } from "../../contract/time.ts";
import { compareIds, isPlaced, lowestId, type PlacedRow, type RowPlace } from "./id-order.ts";
import { type Doubt, unservedWitness } from "./witnesses.ts";

/** Rows that answer a question. */
export type Answer = {
  readonly rows: readonly RowPlace[];
  readonly endId: string | undefined;
  /** The page size that was asked for. */
  readonly limit: number;
  /** What is older may be behind the horizon by now. */
  readonly servedFrom: EpochMs;
};

/** A page reaches so far into the one before it, */
export const overlapMs = 4 * secondMs;
// but by no more bills than these, and by one at least: they are served twice.
const overlapRowsMax = 10;
// Bills below the walk's place that another question brought; any one of them must be served again.
const witnessesMax = 100;

/**
 * The walk through a window by falling ids. It makes its cursor from the ids of the rows: what the
 * exchange names as `endId` neither leads nor ends it. Behind a full page it asks from a little above
 * the lowest id, so that the next answer must serve known bills, its witnesses, again.
 */
export class IdWalk {
  /** What is asked for next: ids below this one. */
  #below: string | undefined;
  #lowest: string | undefined;
  #witnesses: readonly PlacedRow[] = [];
  #oldest = Number.POSITIVE_INFINITY;
  #hasEnded = false;
  /** How much time the next page's overlap spans. */
  #spanMs = Number.POSITIVE_INFINITY;
  #narrowestMs: number;
  #resumeBelow: string | undefined;

  /** @param cursor of an earlier run; which overlaps that had is not known. */
  constructor(cursor?: string) {
    this.#below = cursor;
    this.#lowest = cursor;
    this.#resumeBelow = cursor;
    this.#narrowestMs = cursor === undefined ? Number.POSITIVE_INFINITY : 0;
  }

  /** Undefined for the newest page. */
  get idLessThan(): string | undefined {
    return this.#below;
  }

  /** Whether nothing was served below the lowest id. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * The time of the narrowest overlap of two pages, ms. Where pages are sorted by time, a bill was
   * skipped there only if its id is so much out of order.
   */
  get narrowestMs(): number {
    return this.#narrowestMs;
  }

  /** Where a later run may go on: at least one known bill lies below. */
  get resumeBelow(): string | undefined {
    return this.#resumeBelow;
  }

  /** @returns why the answer cannot be believed; the question then stays. */
  take(answer: Answer): Doubt | undefined {
    const asked = this.#below;
    const rows = leadingRows(answer.rows);
    const ids = rows.flatMap(({ billId }) => billId ?? []);
    // An exchange may take the cursor itself for below it.
    const above = asked === undefined ? undefined : ids.find((id) => compareIds(id, asked) > 0);
    if (above !== undefined) return `bill ${above} came where ids below ${asked} were asked for`;
    const doubt = unservedWitness(this.#witnesses, answer);
    if (doubt !== undefined) return doubt;
    const next = lowestId(ids);
    const oldest = oldestOf(rows, this.#oldest);
    if (oldest < this.#oldest) this.#narrowestMs = Math.min(this.#narrowestMs, this.#spanMs);
    this.#oldest = oldest;
    if (next === undefined || !this.#isLower(next)) {
      return this.#askLower(answer, ids.length);
    }
    this.#lowest = next;
    this.#goOn(rows, answer.rows.length >= answer.limit);
    return undefined;
  }

  /** Takes note of rows that another question brought: where they lie lower, this walk's end was none. */
  see(rows: readonly RowPlace[]): void {
    const lower = rows.filter(({ billId }) => billId !== undefined && this.#isLower(billId));
    if (lower.length === 0) return;
    this.#hasEnded = false;
    this.#ask(this.#lowest, 0, [...this.#witnesses, ...lower.filter(isPlaced)]);
  }

  #isLower(id: string): boolean {
    return this.#lowest === undefined || compareIds(id, this.#lowest) < 0;
  }

  #goOn(rows: readonly RowPlace[], isFull: boolean): void {
    const overlap = overlapOf(rows);
    if (overlap !== undefined) this.#resumeBelow = overlap.below;
    if (isFull && overlap !== undefined) {
      const { below, spanMs } = overlap;
      const isBelow = ({ billId }: PlacedRow) => compareIds(billId, below) < 0;
      this.#ask(below, spanMs, rows.filter(isPlaced).filter(isBelow));
    } else this.#ask(this.#lowest, 0);
  }

  /** Nothing lower came. */
  #askLower({ rows, endId, limit }: Answer, ids: number): Doubt | undefined {
    if (this.#below !== this.#lowest) {
      // Known bills may have filled the page.
      this.#ask(this.#lowest, 0);
    } else if (ids > 0 || rows.length === 0) {
      this.#hasEnded = true;
    } else if (endId !== undefined && this.#isLower(endId)) {
      // Of rows without ids the exchange's own cursor is all there is to go on by.
      this.#lowest = endId;
      this.#ask(endId, 0);
    } else if (rows.length < limit) {
      this.#hasEnded = true;
    } else {
      return "no row of a full page has an id to go on by";
    }
    return undefined;
  }

  #ask(below: string | undefined, spanMs: number, witnesses: readonly PlacedRow[] = []): void {
    this.#below = below;
    this.#spanMs = below === undefined ? Number.POSITIVE_INFINITY : spanMs;
    this.#witnesses = witnesses.slice(0, witnessesMax);
  }
}

/** A row whose time cannot be read may have any id: it leads only where there is no other. */
function leadingRows(rows: readonly RowPlace[]): readonly RowPlace[] {
  const placed = rows.filter(isPlaced);
  return placed.length > 0 ? placed : rows;
}

const oldestOf = (rows: readonly RowPlace[], before: number): number =>
  rows.reduce((oldest, { cTime }) => Math.min(oldest, cTime ?? oldest), before);

/** Where to ask from so that the page's oldest bills are served again, and the time that those span. */
function overlapOf(rows: readonly RowPlace[]): { below: string; spanMs: number } | undefined {
  const ids = new Map(rows.flatMap(({ billId, cTime }) => (billId ? [[billId, cTime]] : [])));
  const sorted = [...ids].sort(([a], [b]) => compareIds(a, b));
  const times = sorted.map(([, cTime]) => cTime ?? Number.POSITIVE_INFINITY);
  const oldest = oldestOf(rows, Number.POSITIVE_INFINITY);
  const isNewer = (cTime: number) => cTime > oldest + overlapMs && Number.isFinite(cTime);
  const newer = times.findIndex(isNewer);
  const wanted = newer === -1 ? overlapRowsMax : Math.max(1, Math.min(newer, overlapRowsMax));
  const place = Math.min(wanted, sorted.length - 1);
  const [below] = sorted[place] ?? [];
  if (below === undefined || place < 1) return undefined;
  const known = times.slice(0, place + 1).filter(Number.isFinite);
  return { below, spanMs: Math.max(0, ...known) - oldest };
}
