import { type EpochMs, epochMs } from "../../../lib/time.ts";
import { compareIds } from "../../contract/bill.ts";
import {
  type Answer,
  type Contradiction,
  idAbove,
  isLocated,
  type LocatedRow,
  lowestId,
  missing,
  oldestRow,
  type PageLengths,
  unservedWitness,
} from "./answers.ts";

/** Asks for bills that are not newer than the oldest bill, which must be served again. */
type Down = {
  readonly kind: "down";
  readonly endMs: 0 | 1;
  /** Whether it was asked with the other end before. */
  readonly isSecond?: true;
};

/** Asks for the rest of the oldest bill's millisecond: ids below this one. */
type Inside = { readonly kind: "inside"; readonly below: string };

/** Asks for older bills. */
type Past = { readonly kind: "past"; readonly endMs: -1 | 0 };

/** Asks for the oldest bill by its id, where its time did not find it: {@link TimeWalk} says why. */
type ById = { readonly kind: "by id" };

/** What a walk by times asks next. `endMs` is how far the question's end is from the oldest bill so far. */
type Step = Down | Inside | Past | ById;

type TimeWalkOptions = {
  /** The end of the window. */
  readonly to: EpochMs;
  readonly lengths: PageLengths;
  /** The oldest bill of all answers; of one millisecond, the lowest id. */
  readonly known: LocatedRow | undefined;
  /** The rows of the window's newest page, if it was read. */
  readonly newestPage: readonly LocatedRow[];
  /** Whether ids follow the times. The walk by ids has then skipped no bill, so this one begins with the oldest. */
  readonly isOrdered: boolean;
};

/**
 * The walk through a window by falling times. It checks the end that the walk by ids has found. Where ids
 * do not follow the times, it reads the whole window. A millisecond may have more bills than a page holds.
 * Within it, bills are read by falling ids.
 *
 * The exchange may include a question's end, or not. Where the oldest bill is not served, or newer ones may have
 * filled the page, the question is asked with the other end.
 *
 * An exchange may find bills by the time of their booking. A bill that was booked late is then absent by its time, present
 * by its id, and absent by its time again. Only this sequence shows such an exchange.
 */
export class TimeWalk {
  readonly #options: TimeWalkOptions;
  #step: Step = { kind: "down", endMs: 0 };
  #oldest: LocatedRow | undefined;
  #witnesses: readonly LocatedRow[] = [];
  #known: LocatedRow | undefined;
  /** Whether bills of the oldest millisecond may have filled a page, so that it says nothing of what is older. */
  #isCrowded = false;
  /** The step that was answered with an empty page. */
  #emptyStep: Step | undefined;
  #hasEnded = false;
  /** The end with which the exchange served an oldest bill: 0 if it includes a question's end. */
  #endMs: 0 | 1 = 0;
  /** Whether a question by id served the oldest bill, after one by its time had not. */
  #isFoundById = false;
  /** Whether the exchange was seen to find bills by the time of their booking. */
  #isByBooking = false;

  constructor(options: TimeWalkOptions) {
    const { known, newestPage, isOrdered } = options;
    this.#options = options;
    this.#known = known;
    if (!isOrdered) this.#goDown(newestPage);
    else if (known) this.#goTo([known]);
  }

  get isOrdered(): boolean {
    return this.#options.isOrdered;
  }

  get endTime(): EpochMs {
    const { to } = this.#options;
    if (this.#oldest === undefined || this.#step.kind === "by id") return to;
    const { endMs } = "endMs" in this.#step ? this.#step : { endMs: this.#endMs };
    // A question past the window's end may be longer than is allowed.
    return epochMs(Math.min(to, this.#oldest.cTime + endMs));
  }

  get idLessThan(): string | undefined {
    if (this.#step.kind === "by id") return this.#oldest && idAbove(this.#oldest.billId);
    return this.#step.kind === "inside" ? this.#step.below : undefined;
  }

  /** Whether nothing older was served. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Learns from rows from another question. @returns whether one is older than the walk has come. */
  learnFrom(rows: readonly LocatedRow[]): boolean {
    const hasOlder = rows.some((row) => this.#isOlder(row));
    this.#known = oldestRow(this.#known ? [...rows, this.#known] : rows);
    if (hasOlder) this.#hasEnded = false;
    return hasOlder;
  }

  /** @returns why the answer cannot be true; the question is then asked again. */
  advance(answer: Answer): Contradiction | undefined {
    const located = answer.rows.filter(isLocated);
    this.learnFrom(located);
    switch (this.#step.kind) {
      case "down":
        return this.#advanceDown(located, answer, this.#step);
      case "inside":
        return this.#isEmptyOnce(answer) ? undefined : this.#advanceInside(located, this.#step);
      case "past":
        return this.#isEmptyOnce(answer)
          ? undefined
          : this.#advancePast(located, answer, this.#step);
      case "by id":
        return this.#advanceById(answer);
      default:
        return this.#step satisfies never;
    }
  }

  #advanceDown(
    located: readonly LocatedRow[],
    answer: Answer,
    step: Down,
  ): Contradiction | undefined {
    const hasOldest = located.some((row) => this.#isOfOldest(row));
    // Other bills of that millisecond may fill a page. If it had room for the witnesses, they must be found by id.
    const mayLackWitness = hasOldest && (this.#isFoundById || this.#mayBeCut(answer));
    const contradiction = mayLackWitness ? undefined : unservedWitness(this.#witnesses, answer);
    if (this.#asksWithOtherEnd(located, contradiction, step)) return undefined;
    if (contradiction !== undefined) return this.#seekById(contradiction);
    if (hasOldest) this.#endMs = step.endMs;
    if (this.#goDown(located)) return undefined;
    if (this.#oldest !== undefined) return this.#goInside(located, answer);
    // No row has both a time and an id, so the walk goes on from the oldest known bill.
    if (this.#known === undefined || answer.rows.length === 0) return this.#end(answer);
    this.#goTo([this.#known]);
    return undefined;
  }

  /**
   * Asks with the other end, once: the exchange may exclude the end, or include it and fill the page with its bills.
   * @returns whether it does.
   */
  #asksWithOtherEnd(
    located: readonly LocatedRow[],
    contradiction: Contradiction | undefined,
    step: Down,
  ): boolean {
    const isUnserved = contradiction !== undefined && !this.#isByBooking;
    const mayHideOlder =
      located.some((row) => this.#isNewer(row)) && !located.some((row) => this.#isOlder(row));
    if (step.isSecond || this.#oldest === undefined || !(isUnserved || mayHideOlder)) return false;
    this.#step = { kind: "down", endMs: step.endMs === 0 ? 1 : 0, isSecond: true };
    return true;
  }

  /** Reads the rest of the oldest bill's millisecond. If ids follow the times, its only bill is the last of the window. */
  #goInside(located: readonly LocatedRow[], answer: Answer): Contradiction | undefined {
    const { isOrdered } = this.#options;
    const isAlone = answer.rows.every(({ billId }) => billId === this.#known?.billId);
    if (isOrdered && isAlone) return this.#end(answer);
    this.#isCrowded = !isOrdered && this.#mayBeCut(answer);
    // If ids follow the times, the walk by ids has read the millisecond down to the lowest known bill.
    const read = isOrdered ? [...located, ...this.#witnesses] : located;
    const ids = read.filter((row) => this.#isOfOldest(row)).map(({ billId }) => billId);
    const below = lowestId(ids);
    this.#step = below === undefined ? this.#past : { kind: "inside", below };
    return undefined;
  }

  #advanceInside(located: readonly LocatedRow[], { below }: Inside): Contradiction | undefined {
    const ids = located.filter((row) => this.#isOfOldest(row)).map(({ billId }) => billId);
    const above = ids.find((billId) => compareIds(billId, below) > 0);
    if (above) return `bill ${above} came where ids below ${below} were asked for`;
    const lower = lowestId(ids);
    // Older rows may lack bills with higher ids, so the walk does not go down to them.
    const hasLower = lower !== undefined && compareIds(lower, below) < 0;
    this.#step = hasLower ? { kind: "inside", below: lower } : this.#past;
    return undefined;
  }

  #advancePast(
    located: readonly LocatedRow[],
    answer: Answer,
    { endMs }: Past,
  ): Contradiction | undefined {
    if (this.#goDown(located)) return undefined;
    if (endMs === 0 && located.some((row) => this.#isOfOldest(row))) {
      // The end is included after all, and bills of that millisecond may have filled the page.
      this.#step = { kind: "past", endMs: -1 };
      return undefined;
    }
    // An exchange may round times. Nothing older than the window is asked for.
    const askedTo = Math.max(this.endTime, answer.servedFrom);
    const newer = located.find(({ cTime }) => cTime > askedTo);
    if (newer !== undefined && this.#mayBeCut(answer)) {
      return `bill ${newer.billId} came where only older ones were asked for`;
    }
    return this.#end(answer);
  }

  /** Whether an empty answer is asked for again: behind a crowd, nothing else shows what is older. */
  #isEmptyOnce({ rows }: Answer): boolean {
    const isOnce = this.#isCrowded && rows.length === 0 && this.#emptyStep !== this.#step;
    this.#emptyStep = this.#step;
    return isOnce;
  }

  get #past(): Past {
    return { kind: "past", endMs: this.#endMs === 0 ? -1 : 0 };
  }

  get #down(): Down {
    return { kind: "down", endMs: this.#endMs };
  }

  #mayBeCut({ rows, limit }: Answer): boolean {
    return this.#options.lengths.mayBeCut(rows.length, limit);
  }

  /** Goes on after an answer by time that should have had the oldest bill. */
  #seekById(contradiction: Contradiction): Contradiction | undefined {
    this.#isByBooking ||= this.#isFoundById;
    if (this.#isFoundById) this.#step = this.#past;
    else this.#step = { kind: "by id" };
    return this.#isByBooking ? undefined : contradiction;
  }

  #advanceById(answer: Answer): Contradiction | undefined {
    const contradiction = unservedWitness(this.#witnesses, answer);
    this.#isFoundById = contradiction === undefined;
    if (contradiction !== undefined) this.#step = { kind: "down", endMs: 1, isSecond: true };
    else this.#step = this.#isByBooking ? this.#past : this.#down;
    return contradiction;
  }

  /** @returns whether the rows had an older bill. */
  #goDown(located: readonly LocatedRow[]): boolean {
    const oldest = oldestRow(located);
    if (oldest === undefined || !this.#isOlder(oldest)) return false;
    this.#goTo(located);
    return true;
  }

  /** Ends the walk, as nothing older came. This is a contradiction if an older bill is known and still served. */
  #end({ servedFrom }: Answer): Contradiction | undefined {
    const known = this.#known;
    if (known && this.#isOlder(known) && known.cTime >= servedFrom) {
      if (!this.#isByBooking) return missing(known);
      this.#goTo([known]);
      return undefined;
    }
    this.#hasEnded = true;
    return undefined;
  }

  #isOfOldest({ cTime }: LocatedRow): boolean {
    return cTime === this.#oldest?.cTime;
  }

  #isNewer({ cTime }: LocatedRow): boolean {
    return this.#oldest !== undefined && cTime > this.#oldest.cTime;
  }

  #isOlder({ cTime }: LocatedRow): boolean {
    return this.#oldest === undefined || cTime < this.#oldest.cTime;
  }

  #goTo(rows: readonly LocatedRow[]): void {
    this.#oldest = oldestRow(rows);
    this.#witnesses = rows.filter((row) => this.#isOfOldest(row));
    this.#step = this.#down;
    this.#isFoundById = false;
  }
}
