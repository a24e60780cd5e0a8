import { type EpochMs, epochMs } from "../../../lib/time.ts";
import { pageSizeMax } from "../../contract/account-bills.ts";
import {
  type Answer,
  type Contradiction,
  type IdTimeOrder,
  isLocated,
  type LocatedRow,
  oldestRow,
  overlapRowsMin,
  type PageLengths,
  type Question,
} from "./answers.ts";
import { IdWalk, overlapMs } from "./id-walk.ts";
import { NewestCheck } from "./newest-check.ts";
import { TimeWalk } from "./time-walk.ts";

// Different from the page size of questions by id, so that a cache cannot answer one with the other's page.
const timePageSize = pageSizeMax - 1;

type WindowOptions = {
  /** The end of the window. */
  readonly to: EpochMs;
  /** The end of the settled time. Only time before it is asked for: later bills may still appear. Default `to`. */
  readonly settledUntil?: EpochMs;
  /** The cursor at which an earlier run stopped. Default none: the walk begins with the newest page. */
  readonly cursor?: string | undefined;
  /** What is known about the ledger's ids. Each answer adds to it. */
  readonly order: IdTimeOrder;
  /** What is known about the exchange's pages. Each answer adds to it. */
  readonly lengths: PageLengths;
};

/**
 * Decides which questions read a whole window. A walk by falling ids reads it first. Then a walk by
 * falling times must find nothing older. The window ends where both walks find nothing more.
 *
 * A walk by ids misses nothing if the exchange sorts pages by id, and a walk by times misses nothing if it
 * sorts them by time. If ids follow the times, either walk is enough. If they do not, the whole window is
 * walked both ways. If cursors made from ids lead nowhere, the window is walked by times alone.
 *
 * Both walks assume that pages begin with the newest bills, which {@link NewestCheck} checks.
 */
export class WindowQuestions {
  readonly #options: WindowOptions;
  #byId: IdWalk;
  /** Undefined until the walk by ids has ended. */
  #byTime: TimeWalk | undefined;
  #isResumed: boolean;
  /** `order.isPagedByTime` at the last answer: another walk of the ledger may set it while a question is under way. */
  #isPagedByTime: boolean;
  #lastPage: readonly LocatedRow[] = [];
  /** The oldest bill of all answers; of one millisecond, that with the lowest id. */
  #known: LocatedRow | undefined;
  #newestPage: readonly LocatedRow[] = [];
  readonly #newestCheck: NewestCheck;

  constructor(options: WindowOptions) {
    const { to, settledUntil = to, cursor, order, lengths } = options;
    this.#options = options;
    this.#byId = new IdWalk(lengths, order, cursor);
    this.#isResumed = cursor !== undefined;
    this.#isPagedByTime = order.isPagedByTime;
    this.#newestCheck = new NewestCheck(epochMs(Math.min(to, settledUntil)), lengths);
    this.#beginByTime();
  }

  /** The next question; undefined where nothing is left to ask. */
  get next(): Question | undefined {
    const byTime = this.#hasEndedById ? this.#byTime : undefined;
    if (byTime === undefined) {
      const { to } = this.#options;
      return { idLessThan: this.#byId.idLessThan, endTime: to, limit: pageSizeMax };
    }
    if (byTime.hasEnded) return this.#newestCheck.question;
    const { idLessThan, endTime } = byTime;
    return { idLessThan, endTime, limit: timePageSize };
  }

  get #hasEndedById(): boolean {
    return this.#byId.hasEnded || this.#isPagedByTime;
  }

  /** Whether the walk descends through the window for the first time. */
  get isDescending(): boolean {
    return this.#isPagedByTime ? this.#byTime?.hasEnded === false : !this.#byId.hasEnded;
  }

  /**
   * Whether all time from this one on was read: the walk by ids has missed nothing, and its last page has more older bills
   * than pages overlap by. The page itself was compared with the one before, as each page of a window is.
   */
  hasReadDownTo(time: EpochMs): boolean {
    if (this.#hasEndedById || !this.doIdsFollowTimes || !this.#newestCheck.isPassed) return false;
    const older = this.#lastPage.filter(({ cTime }) => cTime < time - overlapMs);
    return older.length > overlapRowsMin;
  }

  /** The id below which a later run may resume; undefined if it must begin with the newest page. */
  get resumeBelow(): string | undefined {
    return this.doIdsFollowTimes ? this.#byId.resumeBelow : undefined;
  }

  /**
   * Goes on after the answer to `next`.
   * @returns why the answer, or an earlier one, cannot be true. The question is then asked again.
   */
  advance(page: Omit<Answer, "limit">): Contradiction | undefined {
    const question = this.next;
    if (question === undefined) return undefined;
    const { order, lengths } = this.#options;
    // An id that only repeats the question's leads nowhere.
    const endId = page.endId === question.idLessThan ? undefined : page.endId;
    const answer = { ...page, endId, limit: question.limit };
    if (question.startTime !== undefined) return this.#newestCheck.advance(answer);
    const located = answer.rows.filter(isLocated);
    lengths.learnFrom(answer.rows.length);
    order.learnFrom([...this.#lastPage, ...located]);
    if (located.length > 0) this.#lastPage = located;
    this.#known = oldestRow(this.#known ? [...located, this.#known] : located);
    if (!this.#isResumed) this.#newestCheck.learnFrom(answer);
    const contradiction = this.#hasEndedById
      ? this.#advanceByTime(answer)
      : this.#advanceById(answer);
    this.#isPagedByTime = order.isPagedByTime;
    this.#beginByTime();
    return contradiction;
  }

  #advanceByTime(answer: Answer): Contradiction | undefined {
    const contradiction = this.#byTime?.advance(answer);
    if (contradiction === undefined) this.#byId.learnFrom(answer);
    return contradiction;
  }

  #advanceById(answer: Answer): Contradiction | undefined {
    if (this.#byId.idLessThan === undefined) this.#newestPage = answer.rows.filter(isLocated);
    const contradiction = this.#byId.advance(answer);
    if (contradiction !== undefined && !this.#isResumed) return contradiction;
    if (this.#byId.isPagedByTime) this.#options.order.setPagedByTime();
    // An older bill by id disproves the end of the window that the walk by time had begun to check.
    const hasOlder = this.#byTime?.learnFrom(answer.rows.filter(isLocated));
    if (hasOlder && this.#byTime?.isOrdered) this.#byTime = undefined;
    // There is a bill below a stored cursor. The walk begins again if none is served, or if the answer
    // cannot be judged because the cursor's time is not known, or if the answer may have nothing but what the
    // earlier run was served.
    const { lengths, order } = this.#options;
    const hasOnlyOverlap = answer.rows.length <= order.overlapRowsMax;
    const mustBeginAgain = contradiction !== undefined || this.#byId.hasEnded || hasOnlyOverlap;
    if (this.#isResumed && mustBeginAgain) this.#byId = new IdWalk(lengths, order);
    else if (this.#isResumed) this.#newestCheck.end();
    this.#isResumed = false;
    return undefined;
  }

  /** Begins the walk by times where that by ids has ended, and anew where ids turn out not to follow the times. */
  #beginByTime(): void {
    if (!this.#hasEndedById) return;
    const isOrdered = this.doIdsFollowTimes;
    if (this.#byTime?.isOrdered && !isOrdered) this.#byTime = undefined;
    const { to, lengths } = this.#options;
    const [known, newestPage] = [this.#known, this.#newestPage];
    this.#byTime ??= new TimeWalk({ to, lengths, known, newestPage, isOrdered });
  }

  /** Whether ids follow the times: any two pages overlapped by at least twice the disorder that was seen. */
  get doIdsFollowTimes(): boolean {
    const { order } = this.#options;
    if (this.#isPagedByTime) return false;
    return 2 * order.disorderMs <= Math.min(this.#byId.narrowestMs, overlapMs);
  }
}
