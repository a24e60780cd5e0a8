import { pageSizeMax } from "../../contract/account-bills.ts";
import type { EpochMs } from "../../contract/time.ts";
import { type IdOrder, isPlaced, type PlacedRow } from "./id-order.ts";
import { type Answer, IdWalk, overlapMs } from "./id-walk.ts";
import { TimeWalk } from "./time-walk.ts";
import type { Doubt } from "./witnesses.ts";

/** What is asked of the exchange for one page, but for where the window begins. */
export type Question = {
  readonly idLessThan: string | undefined;
  readonly endTime: EpochMs;
  readonly limit: number;
};

// Another page size, so that nothing that keeps answers by their question has this one.
const timePageSize = pageSizeMax - 1;

/**
 * Decides what is asked to read a window whole. A walk by falling ids reads it; then a walk by
 * falling times must find nothing older: the window ends where both say so. A walk by ids misses
 * nothing where pages are sorted by id, a walk by times nothing where they are sorted by time; where
 * ids follow the times it is all one. Where they do not, the whole window is walked both ways.
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

  /** Where a later run may go on; undefined where it must begin with the newest page. */
  get resumeBelow(): string | undefined {
    return this.#doIdsFollow ? this.#byId.resumeBelow : undefined;
  }

  /**
   * Takes the answer to `next`.
   * @returns why it cannot be believed; `next` then stays the same.
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
    // Below a cursor that was stored lies a bill: where none is served, the walk begins anew.
    if (this.#isResumed && this.#byId.hasEnded) this.#byId = new IdWalk();
    this.#isResumed = false;
    return undefined;
  }

  /** Whether no two pages overlapped by less than twice the disorder that was seen. */
  get #doIdsFollow(): boolean {
    return 2 * this.#order.disorderMs <= Math.min(this.#byId.narrowestMs, overlapMs);
  }
}
