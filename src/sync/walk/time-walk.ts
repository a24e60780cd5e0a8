import { type EpochMs, epochMs } from "../../contract/time.ts";
import { compareIds, isPlaced, lowestId, type PlacedRow, type RowPlace } from "./id-order.ts";
import type { Answer } from "./id-walk.ts";
import { type Doubt, missing, unservedWitness } from "./witnesses.ts";

/** What a walk by times asks next. It follows from the oldest bill so far. */
type Step =
  /** Asks for bills that are not newer than that bill, which must be served again. */
  | { readonly kind: "down" }
  /** Asks up to the bill's own millisecond, to learn whether the exchange's end time is inclusive. */
  | { readonly kind: "bound" }
  /** Asks for the unread bills of that millisecond: those below this id. */
  | { readonly kind: "inside"; readonly below: string | undefined }
  /** Asks for bills that are older than that millisecond. */
  | { readonly kind: "past" };

/**
 * The walk through a window by falling times. It checks the end that a walk by ids has found. Where ids
 * do not follow the times, it reads the whole window. One millisecond may have more bills than a
 * page: those alone are read by their ids.
 */
export class TimeWalk {
  readonly #to: EpochMs;
  #step: Step = { kind: "down" };
  #oldest: PlacedRow | undefined;
  #witnesses: readonly PlacedRow[] = [];
  /** The oldest bill that any question brought; of one millisecond, that with the lowest id. */
  #known: PlacedRow | undefined;
  #isEndIncluded: boolean | undefined;
  #hasEnded = false;
  /** Where the walk was before it skipped time. */
  #skipped: { oldest: PlacedRow | undefined; witnesses: readonly PlacedRow[] } | undefined;

  /** @param to where the window ends. */
  constructor(to: EpochMs) {
    this.#to = to;
  }

  get endTime(): EpochMs {
    if (this.#oldest === undefined) return this.#to;
    return epochMs(this.#oldest.cTime + this.#endOffsetMs());
  }

  get idLessThan(): string | undefined {
    return this.#step.kind === "inside" ? this.#step.below : undefined;
  }

  /** Whether nothing older was served. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** A walk by ids begins with a page that was asked for without an id. It is this walk's first page, too. */
  begin(rows: readonly RowPlace[]): void {
    this.see(rows);
    if (this.#oldest === undefined) this.#goTo(rows.filter(isPlaced));
  }

  /** Takes note of rows that another question brought. */
  see(rows: readonly RowPlace[]): void {
    this.#known = oldestOf([...rows.filter(isPlaced), ...(this.#known ? [this.#known] : [])]);
    if (this.#known && this.#isOlder(this.#known)) this.#hasEnded = false;
  }

  /** Skips the time down to the oldest known bill. */
  skipToKnown(): void {
    if (this.#known === undefined || !this.#isOlder(this.#known)) return;
    this.#skipped ??= { oldest: this.#oldest, witnesses: this.#witnesses };
    this.#goTo([this.#known]);
  }

  /** Goes back to where the walk would be if it had skipped nothing. */
  skipNothing(): void {
    if (this.#skipped === undefined) return;
    this.#oldest = this.#skipped.oldest;
    this.#witnesses = this.#skipped.witnesses;
    this.#skipped = undefined;
    this.#step = { kind: "down" };
    this.#hasEnded = false;
  }

  /**
   * @param doIdsFollow whether ids follow the times: then a walk by ids misses nothing on its way.
   * @returns why the answer cannot be true; the question then stays the same.
   */
  take(answer: Answer, doIdsFollow: boolean): Doubt | undefined {
    const placed = answer.rows.filter(isPlaced);
    switch (this.#step.kind) {
      case "down": {
        // If one millisecond fills a page, the bills served may be others than the known ones.
        const isReached = placed.some((row) => this.#isOfOldest(row));
        const doubt = isReached ? undefined : unservedWitness(this.#witnesses, answer);
        const isCrowded = doubt !== undefined || answer.rows.length >= answer.limit;
        // The bills of the end's own millisecond may have filled the page: ask again without them.
        if (isCrowded && this.#learnsEnd(placed)) return undefined;
        return doubt ?? this.#takeDown(placed, answer, doIdsFollow);
      }
      case "bound":
        this.#isEndIncluded = placed.some((row) => this.#isOfOldest(row));
        this.#step = this.#inside(doIdsFollow);
        break;
      case "inside": {
        const { below } = this.#step;
        const own = placed.filter((row) => this.#isOfOldest(row));
        const above = own.find(({ billId }) => below && compareIds(billId, below) > 0);
        if (above) return `bill ${above.billId} came where ids below ${below} were asked for`;
        const lower = lowestId(own.map(({ billId }) => billId));
        const isLower = lower !== undefined && below !== undefined && compareIds(lower, below) < 0;
        this.#step = isLower ? { kind: "inside", below: lower } : { kind: "past" };
        break;
      }
      case "past":
        return this.#goDown(placed) ? undefined : this.#end(answer);
      default:
        this.#step satisfies never;
    }
    this.see(placed);
    return undefined;
  }

  #takeDown(placed: readonly PlacedRow[], answer: Answer, doIdsFollow: boolean): Doubt | undefined {
    if (this.#goDown(placed)) return undefined;
    // Bills of that millisecond may have filled the page, and an exchange's page may be shorter than
    // what was asked for.
    const mayHideOlder = answer.rows.length > 1;
    if (this.#oldest === undefined || (doIdsFollow && !mayHideOlder)) return this.#end(answer);
    this.#witnesses = placed.filter((row) => this.#isOfOldest(row));
    if (this.#isEndIncluded === undefined) this.#step = { kind: "bound" };
    else this.#step = this.#inside(doIdsFollow);
    return undefined;
  }

  /** @returns whether the rows brought an older bill. */
  #goDown(placed: readonly PlacedRow[]): boolean {
    this.see(placed);
    const oldest = oldestOf(placed);
    if (oldest === undefined || !this.#isOlder(oldest)) return false;
    this.#goTo(placed);
    return true;
  }

  /** Nothing older came. That is a contradiction if an older bill is known and not behind the horizon. */
  #end({ servedFrom }: Answer): Doubt | undefined {
    const known = this.#known;
    if (known && this.#isOlder(known) && known.cTime >= servedFrom) return missing(known);
    this.#hasEnded = true;
    return undefined;
  }

  /** @returns whether the rows show, for the first time, that the exchange's end time is inclusive. */
  #learnsEnd(placed: readonly PlacedRow[]): boolean {
    if (this.#isEndIncluded === true || this.#oldest === undefined) return false;
    const { endTime } = this;
    if (!placed.some(({ cTime }) => cTime >= endTime)) return false;
    this.#isEndIncluded = true;
    return true;
  }

  /** If ids follow the times, a walk by ids has read the millisecond down to the lowest known bill. */
  #inside(doIdsFollow: boolean): Step {
    const ids = this.#witnesses.map(({ billId }) => billId);
    if (doIdsFollow && this.#known && this.#isOfOldest(this.#known)) ids.push(this.#known.billId);
    return { kind: "inside", below: lowestId(ids) };
  }

  #endOffsetMs(): number {
    switch (this.#step.kind) {
      case "down":
        return this.#isEndIncluded ? 0 : 1;
      case "bound":
        return 0;
      case "inside":
        return this.#isEndIncluded ? 0 : 1;
      case "past":
        return this.#isEndIncluded ? -1 : 0;
      default:
        return this.#step satisfies never;
    }
  }

  #isOfOldest({ cTime }: PlacedRow): boolean {
    return cTime === this.#oldest?.cTime;
  }

  #isOlder({ cTime }: PlacedRow): boolean {
    return this.#oldest === undefined || cTime < this.#oldest.cTime;
  }

  #goTo(rows: readonly PlacedRow[]): void {
    this.#oldest = oldestOf(rows);
    this.#witnesses = rows.filter((row) => this.#isOfOldest(row));
    this.#step = { kind: "down" };
  }
}

const oldestOf = (rows: readonly PlacedRow[]): PlacedRow | undefined =>
  rows.reduce<PlacedRow | undefined>(
    (oldest, row) => (oldest === undefined || isBefore(row, oldest) ? row : oldest),
    undefined,
  );

const isBefore = (row: PlacedRow, other: PlacedRow): boolean =>
  row.cTime === other.cTime ? compareIds(row.billId, other.billId) < 0 : row.cTime < other.cTime;
