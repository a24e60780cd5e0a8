import { type EpochMs, secondMs } from "../../contract/time.ts";
import { compareIds, isPlaced, type PlacedRow, type RowPlace } from "./id-order.ts";
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
// One such answer may be another question's.
const olderAboveMin = 2;

/** What is asked for: what lies below a bill. Of a cursor that was stored, its time is not known. */
type Place = Partial<RowPlace> & { readonly billId: string };

/**
 * The walk through a window by falling ids. It makes its cursor from the ids of the rows: the
 * exchange's `endId` neither moves nor ends it. After a full page it asks for ids below one that lies a
 * little above the lowest. So the next answer must serve some known bills again: its witnesses.
 *
 * An exchange may take the cursor for a bill's place among its pages, and sort those by time. Where ids
 * do not follow the times, it then serves bills that are older than the cursor and have higher ids. Two
 * such answers in a row show it.
 */
export class IdWalk {
  /** What is asked for next: ids below this one. */
  #below: Place | undefined;
  #lowest: Place | undefined;
  #witnesses: readonly PlacedRow[] = [];
  #oldest = Number.POSITIVE_INFINITY;
  #hasEnded = false;
  /** How many answers in a row were older than the cursor with ids above it. */
  #olderAbove = 0;
  /** How much time the next page's overlap spans. */
  #spanMs = Number.POSITIVE_INFINITY;
  #narrowestMs: number;
  #resumeBelow: string | undefined;

  /** @param cursor where an earlier run stood; how its pages overlapped is not known. */
  constructor(cursor?: string) {
    this.#below = cursor === undefined ? undefined : { billId: cursor };
    this.#lowest = this.#below;
    this.#resumeBelow = cursor;
    this.#narrowestMs = cursor === undefined ? Number.POSITIVE_INFINITY : 0;
  }

  /** Undefined for the newest page. */
  get idLessThan(): string | undefined {
    return this.#below?.billId;
  }

  /** Whether the exchange has shown that it goes on by times, not by ids. */
  get isByTime(): boolean {
    return this.#olderAbove >= olderAboveMin;
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
    const above = rows.filter(({ billId }) => billId && asked && isAbove(billId, asked));
    if (asked && above[0]) {
      const isOlder = above.every(({ cTime }) => isBefore(cTime, asked.cTime));
      this.#olderAbove = isOlder ? this.#olderAbove + 1 : 0;
      if (this.#olderAbove >= olderAboveMin) return undefined;
      return `bill ${above[0].billId} came where ids below ${asked.billId} were asked for`;
    }
    this.#olderAbove = 0;
    const doubt = unservedWitness(this.#witnesses, answer);
    if (doubt !== undefined) return doubt;
    const next = lowestOf(rows);
    const oldest = oldestOf(rows, this.#oldest);
    if (oldest < this.#oldest) this.#narrowestMs = Math.min(this.#narrowestMs, this.#spanMs);
    this.#oldest = oldest;
    if (next === undefined || !this.#isLower(next)) return this.#askLower(answer, next);
    this.#lowest = next;
    this.#goOn(rows, answer.rows.length >= answer.limit);
    return undefined;
  }

  /** Takes note of rows that another question brought. If some are lower, this walk has not ended. */
  see(rows: readonly RowPlace[]): void {
    const lower = rows.filter((row) => hasId(row) && this.#isLower(row));
    if (lower.length === 0) return;
    this.#hasEnded = false;
    this.#ask(this.#lowest, 0, [...this.#witnesses, ...lower.filter(isPlaced)]);
  }

  #isLower({ billId }: Place): boolean {
    return this.#lowest === undefined || compareIds(billId, this.#lowest.billId) < 0;
  }

  #goOn(rows: readonly RowPlace[], isFull: boolean): void {
    const overlap = overlapOf(rows);
    if (overlap !== undefined) this.#resumeBelow = overlap.below.billId;
    if (isFull && overlap !== undefined) {
      const { below, spanMs } = overlap;
      const isBelow = ({ billId }: PlacedRow) => compareIds(billId, below.billId) < 0;
      this.#ask(below, spanMs, rows.filter(isPlaced).filter(isBelow));
    } else this.#ask(this.#lowest, 0);
  }

  /** Nothing lower came. */
  #askLower({ rows, endId, limit }: Answer, next: Place | undefined): Doubt | undefined {
    if (this.#below?.billId !== this.#lowest?.billId) {
      // The overlap's known bills may have filled the page: ask below all of them.
      this.#ask(this.#lowest, 0);
    } else if (next !== undefined || rows.length === 0) {
      this.#hasEnded = true;
    } else if (endId !== undefined && this.#isLower({ billId: endId })) {
      // Rows without ids leave only the exchange's own cursor to go on by.
      this.#lowest = { billId: endId };
      this.#ask(this.#lowest, 0);
    } else if (rows.length < limit) {
      this.#hasEnded = true;
    } else {
      return "no row of a full page has an id to go on by";
    }
    return undefined;
  }

  #ask(below: Place | undefined, spanMs: number, witnesses: readonly PlacedRow[] = []): void {
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

/** The bill to ask below so that the page's oldest bills are served again, and the time that they span. */
function overlapOf(rows: readonly RowPlace[]): { below: Place; spanMs: number } | undefined {
  const byId = new Map(rows.filter(hasId).map((row) => [row.billId, row]));
  const sorted = [...byId.values()].sort((a, b) => compareIds(a.billId, b.billId));
  const times = sorted.map(({ cTime }) => cTime ?? Number.POSITIVE_INFINITY);
  const oldest = oldestOf(rows, Number.POSITIVE_INFINITY);
  const isNewer = (cTime: number) => cTime > oldest + overlapMs && Number.isFinite(cTime);
  const newer = times.findIndex(isNewer);
  const wanted = newer === -1 ? overlapRowsMax : Math.max(1, Math.min(newer, overlapRowsMax));
  const place = overlapPlace(times, Math.min(wanted, sorted.length - 1));
  const below = sorted[place];
  if (below === undefined || place < 1) return undefined;
  const known = times.slice(0, place + 1).filter(Number.isFinite);
  return { below, spanMs: Math.max(0, ...known) - oldest };
}

/** The first place from the wanted one on that lies above another by id and by time. */
function overlapPlace(times: readonly number[], wanted: number): number {
  let oldest = Math.min(...times.slice(0, wanted));
  for (let place = wanted; place < times.length; place++) {
    const time = times[place] ?? Number.POSITIVE_INFINITY;
    if (time >= oldest) return place;
    oldest = time;
  }
  return -1;
}

const hasId = (row: RowPlace): row is Place & RowPlace => row.billId !== undefined;

/** An exchange may take the cursor itself for below it. */
const isAbove = (id: string, cursor: Place): boolean => compareIds(id, cursor.billId) > 0;

const isBefore = (time: number | undefined, cursor: number | undefined): boolean =>
  time !== undefined && cursor !== undefined && time < cursor;

const lowestOf = (rows: readonly RowPlace[]): Place | undefined =>
  rows
    .filter(hasId)
    .reduce<Place | undefined>(
      (lowest, row) =>
        lowest === undefined || compareIds(row.billId, lowest.billId) < 0 ? row : lowest,
      undefined,
    );
