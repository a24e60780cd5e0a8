import { pageSizeMax } from "../../contract/account-bills.ts";
import { compareIds } from "../../contract/compare-ids.ts";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import {
  type Answer,
  type Doubt,
  type IdOrder,
  isPlaced,
  lowestId,
  type PageHabits,
  type PlacedRow,
} from "./answers.ts";
import { IdWalk, overlapMs, overlapRowsMax } from "./id-walk.ts";
import { TimeBetween } from "./time-between.ts";
import { TimeWalk } from "./time-walk.ts";

/** A question to the exchange, which is answered by one page. */
export type Question = {
  /** Default the window's. */
  readonly startTime?: EpochMs;
  readonly idLessThan: string | undefined;
  readonly endTime: EpochMs;
  readonly limit: number;
};

// Different from the page size of questions by id, so that a cache cannot answer one with the other's page.
const timePageSize = pageSizeMax - 1;

// The walk gives up after it has begun more often than this.
const begunMax = 5;

export type WindowOptions = {
  /** The end of the window. */
  readonly to: EpochMs;
  /** The end of the settled time. Only time before it is asked for: later bills may still appear. Default `to`. */
  readonly settledTo?: EpochMs;
  /** The cursor at which an earlier run stopped. Default none: the walk begins with the newest page. */
  readonly cursor?: string | undefined;
  /** What is known about the stream's ids. Each answer adds to it. */
  readonly order: IdOrder;
  /** What is known about the exchange's pages. Each answer adds to it. */
  readonly habits: PageHabits;
};

/** How many rows a window's first page had, and how many were asked for; its lowest id and oldest time. */
type FirstPage = {
  readonly rows: number;
  readonly limit: number;
  readonly lowest: string;
  readonly oldest: number;
};

/**
 * Decides which questions read a whole window. A walk by falling ids reads it first. Then a walk by
 * falling times must find nothing older. The window ends where both walks find nothing more.
 *
 * A walk by ids misses nothing if the exchange sorts pages by id, and a walk by times misses nothing if it
 * sorts them by time. If ids follow the times, either walk is enough. If they do not, the whole window is
 * walked both ways. If cursors made from ids lead nowhere, the window is walked by times alone.
 *
 * Both walks assume that pages begin with the newest bills, which only pages of several rows can show.
 * Otherwise the time between the known bills is asked for as well, and must be empty.
 */
export class WindowQuestions {
  readonly #options: WindowOptions;
  #byTime: TimeWalk;
  #byId: IdWalk;
  #between: TimeBetween | undefined;
  #isResumed: boolean;
  /** `order.isByTime` at the last answer: another walk of the stream may set it while a question is under way. */
  #isByTime: boolean;
  #lastPage: readonly PlacedRow[] = [];
  /** The times of the bills served: all of them while pages are tiny, afterwards only the newest. */
  readonly #times = new Set<number>();
  /** The first page with rows. */
  #first: FirstPage | undefined;
  /** Whether bills below the first page were served: pages then begin with the newest bills. */
  #hasGoneBelow = false;
  #begun = 1;

  constructor(options: WindowOptions) {
    const { to, cursor, order, habits } = options;
    this.#options = options;
    this.#byTime = new TimeWalk(to, habits);
    this.#byId = new IdWalk(habits, cursor);
    this.#isResumed = cursor !== undefined;
    this.#isByTime = order.isByTime;
  }

  /** The next question; undefined where nothing is left to ask. */
  get next(): Question | undefined {
    if (!this.#hasEndedById) {
      const { to } = this.#options;
      return { idLessThan: this.#byId.idLessThan, endTime: to, limit: pageSizeMax };
    }
    if (!this.#byTime.hasEnded) {
      const { idLessThan, endTime } = this.#byTime;
      return { idLessThan, endTime, limit: timePageSize };
    }
    const span = this.#between?.next;
    return span && { ...span, idLessThan: undefined, limit: timePageSize };
  }

  /** Whether the window was begun anew so often that its answers cannot be true. */
  get hasGivenUp(): boolean {
    return this.#begun > begunMax;
  }

  get #hasEndedById(): boolean {
    return this.#byId.hasEnded || this.#isByTime;
  }

  /** The id below which a later run may resume; undefined if it must begin with the newest page. */
  get resumeBelow(): string | undefined {
    return this.#doIdsFollow ? this.#byId.resumeBelow : undefined;
  }

  /**
   * Takes the answer to `next`.
   * @returns why the answer, or an earlier one, cannot be true. The question or the whole window is then asked
   *   again.
   */
  take(answer: Omit<Answer, "limit">): Doubt | undefined {
    const question = this.next;
    if (question === undefined) return undefined;
    const { order, habits } = this.#options;
    const placed = answer.rows.filter(isPlaced);
    habits.look(answer.rows.length);
    order.look([...this.#lastPage, ...placed]);
    if (placed.length > 0) this.#lastPage = placed;
    this.#lookBelow(placed, answer.rows.length, question.limit);
    for (const { cTime } of placed) this.#times.add(cTime);
    if (!habits.areTiny) keepNewest(this.#times);
    // An id that only repeats the question's leads nowhere.
    const endId = answer.endId === question.idLessThan ? undefined : answer.endId;
    const judged = { ...answer, endId, limit: question.limit };
    const doubt = this.#takeInTurn(judged, placed);
    this.#isByTime = order.isByTime;
    this.#byTime.prepare();
    if (this.#hasEndedById) {
      if (this.#doIdsFollow) this.#byTime.skipToKnown();
      else this.#byTime.skipNothing();
    }
    this.#lookBetween();
    return doubt;
  }

  #takeInTurn(answer: Answer, placed: readonly PlacedRow[]): Doubt | undefined {
    if (!this.#hasEndedById) return this.#takeById(answer);
    if (!this.#byTime.hasEnded) return this.#takeByTime(answer);
    const { habits } = this.#options;
    const mayBeCut = habits.areTiny || habits.mayBeCut(answer.rows.length, answer.limit);
    const unread = this.#between?.take(placed, mayBeCut);
    if (unread === undefined) {
      this.#byId.see(answer);
      return undefined;
    }
    this.#beginAnew();
    return `bill ${unread.billId} was missing from earlier pages that should have had it`;
  }

  #takeByTime(answer: Answer): Doubt | undefined {
    const { isEndWitnessed } = this.#byId;
    const evidence = { doIdsFollow: this.#doIdsFollow, isEndWitnessed };
    const doubt = this.#byTime.take(answer, evidence);
    if (doubt === undefined) this.#byId.see(answer);
    return doubt;
  }

  #takeById(answer: Answer): Doubt | undefined {
    const isNewestPage = this.#byId.idLessThan === undefined;
    const doubt = this.#byId.take(answer);
    if (doubt !== undefined && !this.#isResumed) return doubt;
    if (this.#byId.isByTime) this.#options.order.noteByTime();
    if (isNewestPage) this.#byTime.begin(answer.rows);
    else this.#byTime.see(answer.rows);
    // There is a bill below a stored cursor. The walk begins again if none is served, or if the answer
    // cannot be judged because the cursor's time is not known, or if the answer may have nothing but what the
    // earlier run was served.
    const hasOnlyOverlap = answer.rows.length <= overlapRowsMax;
    const isAnew = doubt !== undefined || this.#byId.hasEnded || hasOnlyOverlap;
    if (this.#isResumed && isAnew) this.#byId = new IdWalk(this.#options.habits);
    else if (this.#isResumed) this.#hasGoneBelow = true;
    this.#isResumed = false;
    return undefined;
  }

  #beginAnew(): void {
    const { to, habits } = this.#options;
    this.#begun += 1;
    this.#byId = new IdWalk(habits);
    this.#byTime = new TimeWalk(to, habits);
    this.#between = undefined;
    this.#lastPage = [];
    this.#first = undefined;
    this.#hasGoneBelow = false;
    this.#times.clear();
  }

  #lookBelow(placed: readonly PlacedRow[], rows: number, limit: number): void {
    const first = this.#first;
    if (first !== undefined) {
      const isBelow = ({ billId, cTime }: PlacedRow) =>
        cTime < first.oldest && compareIds(billId, first.lowest) < 0;
      this.#hasGoneBelow ||= placed.some(isBelow);
      return;
    }
    const lowest = lowestId(placed.map(({ billId }) => billId));
    if (this.#isResumed || lowest === undefined) return;
    const { to } = this.#options;
    const oldest = placed.reduce((time, { cTime }) => Math.min(time, cTime), to as number);
    this.#first = { rows, limit, lowest, oldest };
  }

  /** Whether the first page may have been cut, and begun with the oldest bills. */
  get #mayLackNewest(): boolean {
    if (this.#first === undefined || this.#hasGoneBelow) return false;
    const { rows, limit } = this.#first;
    return this.#options.habits.mayBeCut(rows, limit);
  }

  /** Decides, once both walks have ended, whether the time between known bills is asked for. */
  #lookBetween(): void {
    const { areTiny } = this.#options.habits;
    if (!this.#hasEndedById || !this.#byTime.hasEnded) {
      this.#between = undefined;
      return;
    }
    const isUncertain =
      this.#isByTime || this.#mayLackNewest || (areTiny && this.#byId.isEndUncertain);
    if (!isUncertain) return;
    const { to, settledTo = to } = this.#options;
    this.#between ??= new TimeBetween(this.#times, epochMs(Math.min(to, settledTo)), areTiny);
  }

  /** Whether ids follow the times: any two pages overlapped by at least twice the disorder that was seen. */
  get #doIdsFollow(): boolean {
    const { order, habits } = this.#options;
    // Tiny pages overlap so little that they may not show a disorder.
    if (this.#isByTime || habits.areTiny) return false;
    return 2 * order.disorderMs <= Math.min(this.#byId.narrowestMs, overlapMs);
  }
}

function keepNewest(times: Set<number>): void {
  let newest = Number.NEGATIVE_INFINITY;
  for (const time of times) newest = Math.max(newest, time);
  times.clear();
  if (Number.isFinite(newest)) times.add(newest);
}
