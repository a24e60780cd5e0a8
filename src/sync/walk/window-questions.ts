import { pageSizeMax } from "../../contract/account-bills.ts";
import type { EpochMs } from "../../contract/time.ts";
import { type IdOrder, isPlaced, type PlacedRow } from "./id-order.ts";
import { type Answer, IdWalk, overlapMs } from "./id-walk.ts";
import { TimeWalk } from "./time-walk.ts";
import { UpWalk } from "./up-walk.ts";
import type { Doubt } from "./witnesses.ts";

/** What is asked of the exchange for one page. */
export type Question = {
  /** Default the window's. */
  readonly startTime?: EpochMs;
  readonly idLessThan: string | undefined;
  readonly endTime: EpochMs;
  readonly limit: number;
};

// Another page size makes another question: a cache between us and the exchange cannot answer it.
const timePageSize = pageSizeMax - 1;

/**
 * Decides what is asked to read a whole window. A walk by falling ids reads it. Then a walk by falling
 * times must find nothing older: the window ends where both find nothing. A walk by ids misses nothing
 * if the exchange sorts pages by id. A walk by times misses nothing if it sorts them by time. If ids
 * follow the times, either is enough. If they do not, the whole window is walked both ways. If ids turn
 * out to lead nowhere, it is walked by times alone, and then up from its newest bill.
 */
export class WindowQuestions {
  readonly #to: EpochMs;
  readonly #order: IdOrder;
  readonly #byTime: TimeWalk;
  readonly #up = new UpWalk();
  #byId: IdWalk;
  #isResumed: boolean;
  /** Only an answer changes it: other walks of the stream may learn it while a question is on its way. */
  #isByTime: boolean;
  #lastPage: readonly PlacedRow[] = [];

  /**
   * @param cursor where an earlier run stood; undefined to begin with the newest page.
   * @param order what is known of the stream's ids, to which each answer adds.
   */
  constructor(to: EpochMs, cursor: string | undefined, order: IdOrder) {
    this.#to = to;
    this.#order = order;
    this.#byTime = new TimeWalk(to);
    this.#byId = new IdWalk(cursor);
    this.#isResumed = cursor !== undefined;
    this.#isByTime = order.isByTime;
  }

  /** Undefined where nothing is left to ask. */
  get next(): Question | undefined {
    if (!this.#hasEndedById) {
      return { idLessThan: this.#byId.idLessThan, endTime: this.#to, limit: pageSizeMax };
    }
    if (!this.#byTime.hasEnded) {
      const { idLessThan, endTime } = this.#byTime;
      return { idLessThan, endTime, limit: timePageSize };
    }
    const { startTime } = this.#up;
    if (!this.#isByTime || this.#up.hasEnded || startTime === undefined) return undefined;
    const endTime = this.#to;
    return { idLessThan: undefined, startTime, endTime, limit: pageSizeMax };
  }

  /** Whether the walk is on its way down for the first time. */
  get isDescending(): boolean {
    return this.#isByTime ? !this.#byTime.hasEnded : !this.#byId.hasEnded;
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
   * @returns why the answer cannot be true; `next` then stays the same.
   */
  take(answer: Omit<Answer, "limit">): Doubt | undefined {
    const question = this.next;
    if (question === undefined) return undefined;
    const placed = answer.rows.filter(isPlaced);
    this.#order.look([...this.#lastPage, ...placed]);
    if (placed.length > 0) this.#lastPage = placed;
    const given = { ...answer, limit: question.limit };
    const doubt = this.#hasEndedById ? this.#takeByTime(given) : this.#takeById(given);
    this.#isByTime = this.#order.isByTime;
    if (this.#hasEndedById) {
      if (this.#doIdsFollow) this.#byTime.skipToKnown();
      else this.#byTime.skipNothing();
    }
    return doubt;
  }

  #takeByTime(answer: Answer): Doubt | undefined {
    if (this.#byTime.hasEnded) {
      this.#up.take(answer.rows.filter(isPlaced));
      return undefined;
    }
    this.#up.begin(answer.rows.filter(isPlaced));
    const doubt = this.#byTime.take(answer, this.#doIdsFollow);
    if (doubt === undefined) this.#byId.see(answer.rows);
    return doubt;
  }

  #takeById(answer: Answer): Doubt | undefined {
    const isNewestPage = this.#byId.idLessThan === undefined;
    const doubt = this.#byId.take(answer);
    if (doubt !== undefined && !this.#isResumed) return doubt;
    if (this.#byId.isByTime) this.#order.noteByTime();
    if (isNewestPage) {
      this.#byTime.begin(answer.rows);
      this.#up.begin(answer.rows.filter(isPlaced));
    } else this.#byTime.see(answer.rows);
    // A stored cursor has a bill below it. If none is served, the walk begins again. So it does if the
    // answer cannot be judged without the cursor's time.
    const isAnew = doubt !== undefined || this.#byId.hasEnded;
    if (this.#isResumed && isAnew) this.#byId = new IdWalk();
    this.#isResumed = false;
    return undefined;
  }

  /** Whether no two pages overlapped by less than twice the disorder that was seen. */
  get #doIdsFollow(): boolean {
    if (this.#isByTime) return false;
    return 2 * this.#order.disorderMs <= Math.min(this.#byId.narrowestMs, overlapMs);
  }
}
