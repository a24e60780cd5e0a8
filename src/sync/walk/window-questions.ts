import { pageSizeMax } from "../../contract/account-bills.ts";
import type { EpochMs } from "../../contract/time.ts";
import { type IdOrder, isPlaced, type PlacedRow } from "./id-order.ts";
import { type Answer, IdWalk, overlapMs } from "./id-walk.ts";
import { TimeWalk } from "./time-walk.ts";
import type { Doubt } from "./witnesses.ts";

/** What is asked of the exchange for one page; the start time is the window's. */
export type Question = {
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
 * follow the times, either is enough. If they do not, the whole window is walked both ways.
 */
export class WindowQuestions {
  readonly #to: EpochMs;
  readonly #order: IdOrder;
  readonly #byTime: TimeWalk;
  #byId: IdWalk;
  #isResumed: boolean;
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
  }

  /** Undefined where nothing is left to ask. */
  get next(): Question | undefined {
    if (!this.#byId.hasEnded) {
      return { idLessThan: this.#byId.idLessThan, endTime: this.#to, limit: pageSizeMax };
    }
    if (this.#byTime.hasEnded) return undefined;
    const { idLessThan, endTime } = this.#byTime;
    return { idLessThan, endTime, limit: timePageSize };
  }

  /** Whether the walk by ids is still on its way down. */
  get isDescending(): boolean {
    return !this.#byId.hasEnded;
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
    const doubt = this.#byId.hasEnded ? this.#takeByTime(given) : this.#takeById(given);
    if (this.#byId.hasEnded) {
      if (this.#doIdsFollow) this.#byTime.skipToKnown();
      else this.#byTime.skipNothing();
    }
    return doubt;
  }

  #takeByTime(answer: Answer): Doubt | undefined {
    const doubt = this.#byTime.take(answer, this.#doIdsFollow);
    if (doubt === undefined) this.#byId.see(answer.rows);
    return doubt;
  }

  #takeById(answer: Answer): Doubt | undefined {
    const isNewestPage = this.#byId.idLessThan === undefined;
    const doubt = this.#byId.take(answer);
    if (doubt !== undefined) return doubt;
    if (isNewestPage) this.#byTime.begin(answer.rows);
    else this.#byTime.see(answer.rows);
    // A stored cursor has a bill below it. If none is served, the walk begins again.
    if (this.#isResumed && this.#byId.hasEnded) this.#byId = new IdWalk();
    this.#isResumed = false;
    return undefined;
  }

  /** Whether no two pages overlapped by less than twice the disorder that was seen. */
  get #doIdsFollow(): boolean {
    return 2 * this.#order.disorderMs <= Math.min(this.#byId.narrowestMs, overlapMs);
  }
}
