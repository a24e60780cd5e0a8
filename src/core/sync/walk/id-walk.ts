import { secondMs } from "../../../lib/time.ts";
import { compareIds } from "../../contract/bill.ts";
import {
  type Answer,
  type Contradiction,
  type IdTimeOrder,
  isLocated,
  isNumber,
  type LocatedRow,
  lowestId,
  overlapRowsMin,
  type PageLengths,
  pageRowsMin,
  type RowPosition,
  unservedWitness,
} from "./answers.ts";

/** How much time each page overlaps the one before it. Bills of that time are served twice. */
export const overlapMs = 4 * secondMs;
// The most witnesses that are remembered. The next answer must serve at least one of them again.
const witnessesMax = 100;
// How many answers in a row show that the exchange goes on by time. A single one may answer another question.
const olderAboveMin = 2;

/** A bill below which rows are asked for. The time of a stored cursor is not known. */
type Cursor = Partial<RowPosition> & { readonly billId: string };

/** A question by id, and the known bills that its answer must serve again. */
type IdQuestion = {
  /** Rows with ids below this bill's are asked for; undefined for the newest page. */
  readonly below: Cursor | undefined;
  readonly witnesses: readonly LocatedRow[];
  /** The time that the overlap with the page before spans, ms. */
  readonly spanMs: number;
};

const askedBelow = (below: Cursor | undefined): IdQuestion => ({
  below,
  witnesses: [],
  spanMs: below === undefined ? Number.POSITIVE_INFINITY : 0,
});

/**
 * The walk through a window by falling ids. It makes its cursor from the ids of the rows. The exchange's
 * `endId` is used only where no row of a page has an id. After a page that may have been cut, the next cursor is an id a
 * little above the lowest one. So the next answer must serve some known bills again: its witnesses. The
 * last question asks below the lowest id, unless such a page shows that there is none. It may serve its cursor's own bill.
 *
 * An exchange may sort its pages by time, and go on behind the cursor's bill in that order.
 * Where ids do not follow the times, it then serves bills that are older than the cursor but have higher
 * ids. Two such answers in a row show it.
 */
export class IdWalk {
  readonly #lengths: PageLengths;
  readonly #order: IdTimeOrder;
  #asked: IdQuestion;
  #lowest: Cursor | undefined;
  #hasEnded = false;
  /** How many answers in a row had bills that are older than the cursor but have higher ids. */
  #olderAbove = 0;
  #narrowestMs: number;
  #resumeBelow: string | undefined;
  /** The lowest id that an answer named as the one to go on from. */
  #lowestEndId: string | undefined;

  /** @param cursor where an earlier run stopped. How its pages overlapped is not known. */
  constructor(lengths: PageLengths, order: IdTimeOrder, cursor?: string) {
    this.#lengths = lengths;
    this.#order = order;
    this.#lowest = cursor === undefined ? undefined : { billId: cursor };
    this.#asked = askedBelow(this.#lowest);
    this.#resumeBelow = cursor;
    this.#narrowestMs = cursor === undefined ? Number.POSITIVE_INFINITY : 0;
  }

  /** The cursor of the next question; undefined for the newest page. */
  get idLessThan(): string | undefined {
    return this.#asked.below?.billId;
  }

  /** Whether answers have shown that the exchange goes on by time, not by id. */
  get isPagedByTime(): boolean {
    return this.#olderAbove >= olderAboveMin;
  }

  /** Whether the walk found nothing below the lowest id. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * The narrowest overlap of two pages, ms. If the exchange sorts pages by time, the walk can only have
   * skipped a bill whose id is further out of order than this.
   */
  get narrowestMs(): number {
    return this.#narrowestMs;
  }

  /** The id below which a later run may resume. At least one known bill has a lower id. */
  get resumeBelow(): string | undefined {
    return this.#resumeBelow;
  }

  /** Goes on after the answer to the question. @returns why it cannot be true; the question then stays the same. */
  advance(answer: Answer): Contradiction | undefined {
    const { below, witnesses, spanMs } = this.#asked;
    const rows = leadingRows(answer.rows);
    this.#keepEndId(answer.endId);
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
    const contradiction = unservedWitness(witnesses, answer);
    if (contradiction !== undefined) return contradiction;
    const overlap = new Set([below?.billId, ...witnesses.map(({ billId }) => billId)]);
    const goesOn = rows.some(({ billId }) => billId !== undefined && !overlap.has(billId));
    if (goesOn) this.#narrowestMs = Math.min(this.#narrowestMs, spanMs);
    if (!isLower) return this.#askLower(answer, rows);
    this.#lowest = next;
    this.#goOn(rows, this.#lengths.mayBeCut(answer.rows.length, answer.limit));
    return undefined;
  }

  /** Learns from another question's answer. If it has or names lower ids, this walk has not ended. */
  learnFrom({ rows, endId }: Pick<Answer, "rows" | "endId">): void {
    this.#keepEndId(endId);
    const lower = rows.filter((row) => hasId(row) && this.#isLower(row));
    if (lower.length === 0) {
      if (this.#hasEnded) this.#finish();
      return;
    }
    this.#hasEnded = false;
    const known = [...this.#asked.witnesses, ...lower].filter(isLocated);
    const witnesses = known.filter((row) => this.#isLower(row));
    this.#asked = { ...askedBelow(this.#lowest), witnesses: witnesses.slice(0, witnessesMax) };
  }

  #isLower({ billId }: Cursor): boolean {
    return this.#lowest === undefined || compareIds(billId, this.#lowest.billId) < 0;
  }

  #goOn(rows: readonly RowPosition[], mayBeCut: boolean): void {
    // Once pages overlapped by less, the window is read by time, too.
    const isWide = this.#narrowestMs >= overlapMs;
    const overlap = overlapOf(rows, isWide ? this.#order.overlapRowsMax : overlapRowsMin);
    if (overlap !== undefined) this.#resumeBelow = overlap.below?.billId;
    this.#asked = (mayBeCut ? overlap : undefined) ?? askedBelow(this.#lowest);
  }

  #keepEndId(endId: string | undefined): void {
    // Only a bill's id can be compared with bills' ids.
    if (endId === undefined || !isNumber(endId)) return;
    this.#lowestEndId = lowestId([endId, this.#lowestEndId ?? endId]);
  }

  /** The id that an answer named to go on from, if it is below all known ones. */
  get #idToGoOn(): string | undefined {
    const billId = this.#lowestEndId;
    return billId !== undefined && this.#isLower({ billId }) ? billId : undefined;
  }

  /**
   * Ends the walk, unless an answer named a lower id to go on from: an exchange that leaves rows out of a page
   * after it was cut serves short or empty pages before the last.
   */
  #finish(): void {
    const billId = this.#idToGoOn;
    this.#hasEnded = billId === undefined;
    if (billId === undefined) return;
    this.#lowest = { billId };
    this.#asked = askedBelow(this.#lowest);
  }

  /** Decides what is asked after an answer without a lower id, or ends the walk. */
  #askLower({ rows: all, limit }: Answer, rows: readonly RowPosition[]): Contradiction | undefined {
    const isOverlap = this.#lowest !== undefined && this.idLessThan !== this.#lowest.billId;
    if (isOverlap && all.length >= pageRowsMin) {
      // The overlap's known bills may have filled the page. Fewer, with a witness, are an end as good as an empty page.
      this.#asked = askedBelow(this.#lowest);
      return undefined;
    }
    const hasIds = lowestOf(rows) !== undefined;
    if (!hasIds && all.length >= limit && this.#idToGoOn === undefined) {
      return "no row of a full page has an id, so the page after it cannot be requested";
    }
    this.#finish();
    return undefined;
  }
}

/**
 * The rows that may move the cursor. A row without a readable time may have a wrong id, too, so it counts
 * only if no row has both.
 */
function leadingRows(rows: readonly RowPosition[]): readonly RowPosition[] {
  const located = rows.filter(isLocated);
  return located.length > 0 ? located : rows;
}

const oldestOf = (rows: readonly RowPosition[], before: number): number =>
  rows.reduce((oldest, { cTime }) => Math.min(oldest, cTime ?? oldest), before);

/** A question whose answer must serve some of the page's oldest bills again. */
function overlapOf(rows: readonly RowPosition[], rowsMax: number): IdQuestion | undefined {
  const byId = new Map(rows.filter(hasId).map((row) => [row.billId, row]));
  const sorted = [...byId.values()].sort((a, b) => compareIds(a.billId, b.billId));
  const times = sorted.map(({ cTime }) => cTime ?? Number.POSITIVE_INFINITY);
  const oldest = oldestOf(rows, Number.POSITIVE_INFINITY);
  const isNewer = (cTime: number) => cTime > oldest + overlapMs && Number.isFinite(cTime);
  const newer = times.findIndex(isNewer);
  const most = Math.min(rowsMax, Math.floor(sorted.length / 2));
  const wanted = newer === -1 ? most : Math.min(newer, most);
  const index = overlapIndex(times, Math.max(1, wanted));
  const below = sorted[index];
  if (below === undefined || index < 1) return undefined;
  const known = times.slice(0, index + 1).filter(Number.isFinite);
  const isBelow = ({ billId }: LocatedRow) => compareIds(billId, below.billId) < 0;
  const witnesses = rows.filter(isLocated).filter(isBelow).slice(0, witnessesMax);
  return { below, witnesses, spanMs: Math.max(0, ...known) - oldest };
}

/** The first index, from the wanted one on, whose bill is above another one both by id and by time. */
function overlapIndex(times: readonly number[], wanted: number): number {
  let oldest = Math.min(...times.slice(0, wanted));
  for (let index = wanted; index < times.length; index++) {
    const time = times[index] ?? Number.POSITIVE_INFINITY;
    if (time >= oldest) return index;
    oldest = time;
  }
  return -1;
}

const hasId = (row: RowPosition): row is Cursor & RowPosition => row.billId !== undefined;

/** The cursor's own bill is not above it: an exchange may include it in the answer. */
const isAbove = (id: string, cursor: Cursor): boolean => compareIds(id, cursor.billId) > 0;

const isBefore = (time: number | undefined, cursor: number | undefined): boolean =>
  time !== undefined && cursor !== undefined && time < cursor;

const lowestOf = (rows: readonly RowPosition[]): Cursor | undefined =>
  rows
    .filter(hasId)
    .reduce<Cursor | undefined>(
      (lowest, row) =>
        lowest === undefined || compareIds(row.billId, lowest.billId) < 0 ? row : lowest,
      undefined,
    );
