import { type EpochMs, secondMs } from "../../contract/time.ts";
import { compareIds, isPlaced, lowestId, type PlacedRow, type RowPlace } from "./id-order.ts";
import { type Doubt, unservedWitness } from "./witnesses.ts";

/** Rows that answer a question. */
export type Answer = {
  readonly rows: readonly RowPlace[];
  readonly endId: string | undefined;
  /** The page size that was asked for. */
  readonly limit: number;
  /** The oldest time that the exchange still served: older bills may be missing. */
  readonly servedFrom: EpochMs;
};

/** A page overlaps the one before it by this much time: its bills are served twice. */
export const overlapMs = 4 * secondMs;
// An overlap has at most so many bills, and at least one.
const overlapRowsMax = 10;
// How many known bills are remembered of those that the next answer must serve again, at least one.
const witnessesMax = 100;

/**
 * The walk through a window by falling ids. It makes its cursor from the ids of the rows: the
 * exchange's `endId` neither moves nor ends it. After a full page it asks for ids below one that lies a
 * little above the lowest. So the next answer must serve some known bills again: its witnesses.
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

  /** @param cursor where an earlier run stood; how its pages overlapped is not known. */
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
   * The narrowest overlap of two pages, ms. If the exchange sorts pages by time, a bill can only have
   * been skipped if its id is further out of order than that.
   */
  get narrowestMs(): number {
    return this.#narrowestMs;
  }

  /** The id below which a later run may resume: at least one known bill lies below it. */
  get resumeBelow(): string | undefined {
    return this.#resumeBelow;
  }

  /** @returns why the answer cannot be true; the question then stays the same. */
  take(answer: Answer): Doubt | undefined {
    const asked = this.#below;
    const rows = leadingRows(answer.rows);
    const ids = rows.flatMap(({ billId }) => billId ?? []);
    // Only ids above the cursor are wrong: an exchange may count the cursor itself as below.
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

  /** Takes note of rows that another question brought. If some are lower, this walk has not ended. */
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
      // The overlap's known bills may have filled the page: ask below all of them.
      this.#ask(this.#lowest, 0);
    } else if (ids > 0 || rows.length === 0) {
      this.#hasEnded = true;
    } else if (endId !== undefined && this.#isLower(endId)) {
      // Rows without ids leave only the exchange's own cursor to go on by.
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

/** A row whose time cannot be read may have a wrong id, too: it moves the cursor only if no row has both. */
function leadingRows(rows: readonly RowPlace[]): readonly RowPlace[] {
  const placed = rows.filter(isPlaced);
  return placed.length > 0 ? placed : rows;
}

const oldestOf = (rows: readonly RowPlace[], before: number): number =>
  rows.reduce((oldest, { cTime }) => Math.min(oldest, cTime ?? oldest), before);

/** The id to ask below so that the page's oldest bills are served again, and the time that they span. */
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
