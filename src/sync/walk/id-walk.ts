import { type EpochMs, secondMs } from "../../contract/time.ts";
import { compareIds, idBeneath, isPlaced, type PlacedRow, type RowPlace } from "./id-order.ts";
import type { PageHabits } from "./page-habits.ts";
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

/** A question by id, and what its answer must serve again. */
type Asked = {
  /** Ids below that of this bill; undefined for the newest page. */
  readonly below: Place | undefined;
  readonly witnesses: readonly PlacedRow[];
  /** How much time the overlap with the page before spans. */
  readonly spanMs: number;
};

const askedBelow = (below: Place | undefined): Asked => ({
  below,
  witnesses: [],
  spanMs: below === undefined ? Number.POSITIVE_INFINITY : 0,
});

/**
 * The walk through a window by falling ids. It makes its cursor from the ids of the rows: the
 * exchange's `endId` neither moves nor ends it. After a full page it asks for ids below one that lies a
 * little above the lowest. So the next answer must serve some known bills again: its witnesses. Its
 * last question, too, asks for the lowest bill again, where another one is known to ask below.
 *
 * An exchange may take the cursor for a bill's place among its pages, and sort those by time. Where ids
 * do not follow the times, it then serves bills that are older than the cursor and have higher ids. Two
 * such answers in a row show it.
 */
export class IdWalk {
  readonly #habits: PageHabits;
  #asked: Asked;
  /** What closes the walk, once nothing lower comes: the lowest bill alone must be served again. */
  #closing: Asked | undefined;
  #lowest: Place | undefined;
  #oldest = Number.POSITIVE_INFINITY;
  #end: "none" | "witnessed" | "empty" | "uncertain" = "none";
  /** Whether a cursor that is no bill's id has led to a lower bill. */
  #takesAnyId = false;
  /** How many answers in a row were older than the cursor with ids above it. */
  #olderAbove = 0;
  #narrowestMs: number;
  #resumeBelow: string | undefined;

  /** @param cursor where an earlier run stood; how its pages overlapped is not known. */
  constructor(habits: PageHabits, cursor?: string) {
    this.#habits = habits;
    this.#lowest = cursor === undefined ? undefined : { billId: cursor };
    this.#asked = askedBelow(this.#lowest);
    this.#resumeBelow = cursor;
    this.#narrowestMs = cursor === undefined ? Number.POSITIVE_INFINITY : 0;
  }

  /** Undefined for the newest page. */
  get idLessThan(): string | undefined {
    return this.#asked.below?.billId;
  }

  /** Whether the exchange has shown that it goes on by times, not by ids. */
  get isByTime(): boolean {
    return this.#olderAbove >= olderAboveMin;
  }

  /** Whether nothing was served below the lowest id. */
  get hasEnded(): boolean {
    return this.#end !== "none";
  }

  /** Whether the answer that ended the walk has served the lowest bill again. */
  get isEndWitnessed(): boolean {
    return this.#end === "witnessed";
  }

  /** Whether the walk ended for want of a question that could show more, not because it read all. */
  get isEndUncertain(): boolean {
    return this.#end === "uncertain";
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
    const { below, witnesses, spanMs } = this.#asked;
    const rows = leadingRows(answer.rows);
    const above = rows.filter(({ billId }) => billId && below && isAbove(billId, below));
    if (below && above[0]) {
      const isOlder = above.every(({ cTime }) => isBefore(cTime, below.cTime));
      this.#olderAbove = isOlder ? this.#olderAbove + 1 : 0;
      if (this.#olderAbove >= olderAboveMin) return undefined;
      return `bill ${above[0].billId} came where ids below ${below.billId} were asked for`;
    }
    this.#olderAbove = 0;
    const next = lowestOf(rows);
    const isLower = next !== undefined && this.#isLower(next);
    const doubt = unservedWitness(witnesses, answer);
    // Other bills may have filled a tiny page: the cursor's own, or newer ones that were unknown.
    const isFilled = this.#habits.areTiny && rows.length > 0;
    if (doubt !== undefined && !isFilled) return doubt;
    const oldest = oldestOf(rows, this.#oldest);
    if (oldest < this.#oldest) this.#narrowestMs = Math.min(this.#narrowestMs, spanMs);
    this.#oldest = oldest;
    if (!isLower) return this.#askLower(answer, rows);
    this.#takesAnyId ||= below !== undefined && below.billId === this.#beneath;
    this.#lowest = next;
    this.#goOn(rows, answer.rows.length >= answer.limit);
    return undefined;
  }

  /** Takes note of rows that another question brought. If some are lower, this walk has not ended. */
  see(rows: readonly RowPlace[]): void {
    const lower = rows.filter((row) => hasId(row) && this.#isLower(row));
    if (lower.length === 0) return;
    this.#end = "none";
    const known = [...this.#asked.witnesses, ...lower].filter(isPlaced);
    const witnesses = known.filter((row) => this.#isLower(row));
    this.#closing = undefined;
    this.#asked = { ...askedBelow(this.#lowest), witnesses: witnesses.slice(0, witnessesMax) };
  }

  #isLower({ billId }: Place): boolean {
    return this.#lowest === undefined || compareIds(billId, this.#lowest.billId) < 0;
  }

  get #beneath(): string | undefined {
    return this.#lowest && idBeneath(this.#lowest.billId);
  }

  #goOn(rows: readonly RowPlace[], isFull: boolean): void {
    const overlap = overlapOf(rows, overlapRowsMax);
    if (overlap !== undefined) this.#resumeBelow = overlap.below?.billId;
    this.#closing = overlapOf(rows, 1);
    this.#asked = (isFull ? overlap : this.#closing) ?? askedBelow(this.#lowest);
  }

  /** Nothing lower came. */
  #askLower(answer: Answer, rows: readonly RowPlace[]): Doubt | undefined {
    const id = this.idLessThan;
    const isLowest = id === this.#lowest?.billId;
    if (id !== undefined && id === this.#beneath) {
      this.#end = this.#takesAnyId ? "empty" : "uncertain";
    } else if (!isLowest && id !== this.#closing?.below?.billId) {
      // The overlap's known bills may have filled the page: ask below all of them but one.
      this.#asked = this.#closing ?? askedBelow(this.#lowest);
    } else if (!isLowest) {
      const isServed = rows.some(({ billId }) => billId === this.#lowest?.billId);
      // The lowest bill alone may be all that a tiny page holds.
      if (isServed && !this.#habits.areTiny) this.#end = "witnessed";
      else this.#asked = askedBelow(this.#lowest);
    } else return this.#askBelowAll(answer, rows);
    return undefined;
  }

  /** Nothing came below the lowest bill. */
  #askBelowAll({ rows: all, endId, limit }: Answer, rows: readonly RowPlace[]): Doubt | undefined {
    const beneath = this.#habits.areTiny && lowestOf(rows) ? this.#beneath : undefined;
    if (beneath !== undefined) {
      // The cursor's own bill may be all that a tiny page holds.
      const { witnesses } = this.#asked;
      this.#asked = { ...askedBelow({ ...this.#lowest, billId: beneath }), witnesses };
    } else if (lowestOf(rows) !== undefined || all.length === 0) {
      this.#end = "empty";
    } else if (endId !== undefined && this.#isLower({ billId: endId })) {
      // Rows without ids leave only the exchange's own cursor to go on by.
      this.#lowest = { billId: endId };
      this.#asked = askedBelow(this.#lowest);
    } else if (all.length < limit) {
      this.#end = "empty";
    } else {
      return "no row of a full page has an id to go on by";
    }
    return undefined;
  }
}

/** A row whose time cannot be read may have a wrong id, too: it moves the cursor only if no row has both. */
function leadingRows(rows: readonly RowPlace[]): readonly RowPlace[] {
  const placed = rows.filter(isPlaced);
  return placed.length > 0 ? placed : rows;
}

const oldestOf = (rows: readonly RowPlace[], before: number): number =>
  rows.reduce((oldest, { cTime }) => Math.min(oldest, cTime ?? oldest), before);

/** The question that serves some of the page's oldest bills again, at most so many. */
function overlapOf(rows: readonly RowPlace[], most: number): Asked | undefined {
  const byId = new Map(rows.filter(hasId).map((row) => [row.billId, row]));
  const sorted = [...byId.values()].sort((a, b) => compareIds(a.billId, b.billId));
  const times = sorted.map(({ cTime }) => cTime ?? Number.POSITIVE_INFINITY);
  const oldest = oldestOf(rows, Number.POSITIVE_INFINITY);
  const isNewer = (cTime: number) => cTime > oldest + overlapMs && Number.isFinite(cTime);
  const newer = times.findIndex(isNewer);
  const wanted = newer === -1 ? most : Math.max(1, Math.min(newer, most));
  const place = overlapPlace(times, Math.min(wanted, sorted.length - 1));
  const below = sorted[place];
  if (below === undefined || place < 1) return undefined;
  const known = times.slice(0, place + 1).filter(Number.isFinite);
  const isBelow = ({ billId }: PlacedRow) => compareIds(billId, below.billId) < 0;
  const witnesses = rows.filter(isPlaced).filter(isBelow).slice(0, witnessesMax);
  return { below, witnesses, spanMs: Math.max(0, ...known) - oldest };
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
