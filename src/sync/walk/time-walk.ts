import { compareIds } from "../../contract/compare-ids.ts";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import {
  type Answer,
  type Doubt,
  idAbove,
  isPlaced,
  lowestId,
  missing,
  oldestRow,
  type PageHabits,
  type PlacedRow,
  pageRowsMin,
  type RowPlace,
  unservedWitness,
} from "./answers.ts";

/** What a walk by times asks next, relative to the oldest bill so far. */
type Step =
  /** Asks for bills that are not newer than the oldest bill, which must be served again. */
  | { readonly kind: "down" }
  /** Asks for the rest of its millisecond: ids below this one. It ends a millisecond later, which not all servers may include. */
  | { readonly kind: "inside"; readonly below: string | undefined; readonly isNarrow?: true }
  /** Asks for bills that are older than the oldest bill's millisecond. */
  | { readonly kind: "past" }
  /** Asks for the oldest bill by its id, where its time did not find it: {@link TimeWalk} says why. */
  | { readonly kind: "by id" };

/**
 * The walk through a window by falling times. It checks the end that the walk by ids has found. Where ids
 * do not follow the times, it reads the whole window. A millisecond may have more bills than a page holds.
 * Within such a millisecond, bills are read by falling ids.
 *
 * An exchange may find bills by the time of their booking. A bill that was booked late is then absent by its time, present
 * by its id, and absent by its time again. Only this sequence shows such an exchange.
 */
export class TimeWalk {
  readonly #to: EpochMs;
  readonly #habits: PageHabits;
  #step: Step = { kind: "down" };
  #oldest: PlacedRow | undefined;
  #witnesses: readonly PlacedRow[] = [];
  /** The oldest bill of all answers, those of the walk by ids included; of one millisecond, the lowest id. */
  #known: PlacedRow | undefined;
  /** Whether questions assume that the end time is inclusive. An answer must then have a bill of that time. */
  #isEndIncluded = true;
  /** Whether the oldest bill was missing from an answer whose end time was taken for inclusive. */
  #hasForgottenEnd = false;
  #hasEnded = false;
  /** Whether a question by id served the oldest bill, after one by its time had not. */
  #isFoundById = false;
  /** Whether the exchange was seen to find bills by the time of their booking. */
  #isByBooking = false;
  /** Whether bills of the oldest millisecond may have filled a page, so that it says nothing of what is older. */
  #isCrowded = false;
  #emptyStep: Step | undefined;
  /** The witnesses of the walk's place before it skipped time. */
  #skipped: readonly PlacedRow[] | undefined;

  /** @param to the end of the window. */
  constructor(to: EpochMs, habits: PageHabits) {
    this.#to = to;
    this.#habits = habits;
  }

  get endTime(): EpochMs {
    if (this.#oldest === undefined || this.#step.kind === "by id") return this.#to;
    // `past` leaves out the oldest bill's own millisecond. A question past the window's end may be longer than is allowed.
    const offsetMs = this.#step.kind === "past" ? 0 : 1;
    const isNarrow = this.#step.kind === "inside" ? this.#step.isNarrow : this.#isEndIncluded;
    return epochMs(Math.min(this.#to, this.#oldest.cTime + offsetMs - Number(isNarrow ?? false)));
  }

  get idLessThan(): string | undefined {
    if (this.#step.kind === "by id") return this.#oldest && idAbove(this.#oldest.billId);
    return this.#step.kind === "inside" ? this.#step.below : undefined;
  }

  /** Whether nothing older was served. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Takes the newest page, with which the walk by ids begins. It is also this walk's first page. */
  begin(rows: readonly RowPlace[]): void {
    this.see(rows);
    if (this.#oldest === undefined) this.#goTo(rows.filter(isPlaced));
  }

  /** Takes note of rows from another question. */
  see(rows: readonly RowPlace[]): void {
    this.#known = oldestRow([...rows.filter(isPlaced), ...(this.#known ? [this.#known] : [])]);
    if (this.#known && this.#isOlder(this.#known)) this.#hasEnded = false;
  }

  /** Skips the time down to the oldest known bill. */
  skipToKnown(): void {
    if (this.#known === undefined || !this.#isOlder(this.#known)) return;
    this.#skipped ??= this.#witnesses;
    this.#goTo([this.#known]);
  }

  /** Goes back to where the walk would be if it had skipped nothing. */
  skipNothing(): void {
    if (this.#skipped === undefined) return;
    this.#goTo(this.#skipped);
    this.#skipped = undefined;
    this.#hasEnded = false;
  }

  /**
   * @param doIdsFollow whether ids follow the times. A walk by ids then skips no bills on its way down.
   * @returns why the answer cannot be true; the question is then asked again, without assumptions.
   */
  take(answer: Answer, doIdsFollow: boolean): Doubt | undefined {
    const placed = answer.rows.filter(isPlaced);
    switch (this.#step.kind) {
      case "down":
        return this.#takeDown(placed, answer, doIdsFollow);
      case "inside":
        return this.#isEmptyOnce(answer) ? undefined : this.#takeInside(placed, this.#step);
      case "past":
        if (this.#isEmptyOnce(answer)) return undefined;
        // Bills that are known already may have filled the page: ask again without them.
        if (this.#learnsEnd(placed) || this.#goDown(placed)) return undefined;
        return this.#refilled(answer) ?? this.#end(answer);
      case "by id":
        return this.#takeById(placed, answer);
      default:
        return this.#step satisfies never;
    }
  }

  #takeDown(placed: readonly PlacedRow[], answer: Answer, doIdsFollow: boolean): Doubt | undefined {
    // Other bills of that millisecond may fill a page. If the page had room for the witnesses, they must be found by id.
    const mayLackWitness = this.#isFoundById || this.#mayBeFull(answer);
    const isReached = mayLackWitness && placed.some((row) => this.#isOfOldest(row));
    const doubt = isReached ? undefined : unservedWitness(this.#witnesses, answer);
    const isCrowded = doubt !== undefined || answer.rows.length >= answer.limit;
    // Bills at the end time itself may have filled the page: ask again without them.
    if (isCrowded && this.#learnsEnd(placed)) return undefined;
    if (doubt !== undefined) {
      return this.#forgetsEnd() ? undefined : this.#seekById(doubt);
    }
    if (this.#goDown(placed)) return undefined;
    if (this.#oldest === undefined && this.#known && answer.rows.length > 0) {
      // No row has both a time and an id, so the walk goes on from the oldest known bill.
      this.#goTo([this.#known]);
      return undefined;
    }
    // Other bills of the oldest millisecond may have filled the page, since the exchange's pages may be shorter than
    // the limit that was asked for.
    const isOther = ({ billId }: RowPlace) => billId !== this.#known?.billId;
    // A page with room for one row would repeat its cursor's bill for ever.
    const mayHideOlder = answer.rows.some(isOther) || this.#habits.haveOneRow;
    if (this.#oldest === undefined || (doIdsFollow && !mayHideOlder)) return this.#end(answer);
    this.#witnesses = placed.filter((row) => this.#isOfOldest(row));
    this.#isCrowded = !doIdsFollow && this.#habits.mayBeCut(answer.rows.length, answer.limit);
    // The walk by ids has shown that there is no lower id, unless other bills of this millisecond filled its last page.
    const isAlone = !this.#witnesses.some(isOther);
    if (doIdsFollow && isAlone && !this.#habits.haveOneRow) this.#step = { kind: "past" };
    else this.#step = this.#inside(doIdsFollow);
    return undefined;
  }

  #takeInside(placed: readonly PlacedRow[], step: Step & { kind: "inside" }): Doubt | undefined {
    const { below, isNarrow } = step;
    const inOldest = placed.filter((row) => this.#isOfOldest(row));
    const above = inOldest.find(({ billId }) => below && compareIds(billId, below) > 0);
    if (above) return `bill ${above.billId} came where ids below ${below} were asked for`;
    const lower = lowestId(inOldest.map(({ billId }) => billId));
    if (below !== undefined && lower !== undefined && compareIds(lower, below) < 0) {
      this.#step = { kind: "inside", below: lower };
    } else if (!isNarrow && placed.some(({ cTime }) => cTime === this.endTime)) {
      this.#step = { ...step, isNarrow: true };
    } else {
      this.#step = { kind: "past" };
    }
    this.see(placed);
    return undefined;
  }

  /** Whether an empty answer without witnesses is asked for again: behind a crowd, nothing else shows what is older. */
  #isEmptyOnce({ rows }: Answer): boolean {
    const isOnce = this.#isCrowded && rows.length === 0 && this.#emptyStep !== this.#step;
    this.#emptyStep = this.#step;
    return isOnce;
  }

  /** The doubt about a page that a crowd fills though older bills were asked for: an exchange may round times. */
  #refilled(answer: Answer): Doubt | undefined {
    const { rows, servedFrom } = answer;
    const isFull = this.#isCrowded && this.#mayBeFull(answer);
    // Nothing older than the window is asked for.
    const asked = Math.max(this.endTime, servedFrom);
    const newer = rows.filter(isPlaced).find(({ cTime }) => isFull && cTime > asked);
    return newer && `bill ${newer.billId} came where only older ones were asked for`;
  }

  /** Whether other bills may have filled the page. Smaller pages are refused where more bills exist. */
  #mayBeFull({ rows, limit }: Answer): boolean {
    return rows.length >= pageRowsMin && this.#habits.mayBeCut(rows.length, limit);
  }

  /** Goes on after an answer by time that should have had the oldest bill. */
  #seekById(doubt: Doubt): Doubt | undefined {
    if (this.#isFoundById) {
      this.#isByBooking = true;
      this.#step = { kind: "past" };
      return undefined;
    }
    this.#step = { kind: "by id" };
    return this.#isByBooking ? undefined : doubt;
  }

  /** Older rows may lack bills with higher ids, so the walk does not go down to them. */
  #takeById(placed: readonly PlacedRow[], answer: Answer): Doubt | undefined {
    this.see(placed);
    const doubt = unservedWitness(this.#witnesses, answer);
    this.#isFoundById = doubt === undefined;
    this.#step = { kind: this.#isFoundById && this.#isByBooking ? "past" : "down" };
    return doubt;
  }

  /** @returns whether the rows had an older bill. */
  #goDown(placed: readonly PlacedRow[]): boolean {
    this.see(placed);
    const oldest = oldestRow(placed);
    if (oldest === undefined || !this.#isOlder(oldest)) return false;
    this.#goTo(placed);
    return true;
  }

  /** Ends the walk, as nothing older came. This is a contradiction if an older bill is known and still served. */
  #end({ servedFrom }: Answer): Doubt | undefined {
    const known = this.#known;
    if (known && this.#isOlder(known) && known.cTime >= servedFrom) {
      if (!this.#isByBooking) return missing(known);
      this.#goTo([known]);
      return undefined;
    }
    this.#hasEnded = true;
    return undefined;
  }

  /** @returns whether the rows show that the exchange's end time is inclusive, which was not assumed. */
  #learnsEnd(placed: readonly PlacedRow[]): boolean {
    if (this.#isEndIncluded || this.#oldest === undefined) return false;
    const { endTime } = this;
    if (!placed.some(({ cTime }) => cTime === endTime)) return false;
    this.#isEndIncluded = true;
    return true;
  }

  /**
   * Drops the assumption that the end time is inclusive, once for each oldest bill: the next answer may show that it holds.
   * @returns whether it was dropped: the walk then asks again.
   */
  #forgetsEnd(): boolean {
    if (!this.#isEndIncluded || this.#hasForgottenEnd) return false;
    this.#isEndIncluded = false;
    this.#hasForgottenEnd = true;
    return true;
  }

  /** If ids follow the times, the walk by ids has read the millisecond down to the lowest known bill. */
  #inside(doIdsFollow: boolean): Step {
    const ids = this.#witnesses.map(({ billId }) => billId);
    if (doIdsFollow && this.#known && this.#isOfOldest(this.#known)) {
      this.#skipped ??= this.#witnesses;
      ids.push(this.#known.billId);
    }
    return { kind: "inside", below: lowestId(ids) };
  }

  #isOfOldest({ cTime }: PlacedRow): boolean {
    return cTime === this.#oldest?.cTime;
  }

  #isOlder({ cTime }: PlacedRow): boolean {
    return this.#oldest === undefined || cTime < this.#oldest.cTime;
  }

  #goTo(rows: readonly PlacedRow[]): void {
    this.#oldest = oldestRow(rows);
    this.#witnesses = rows.filter((row) => this.#isOfOldest(row));
    this.#step = { kind: "down" };
    this.#isFoundById = false;
    this.#hasForgottenEnd = false;
  }
}
