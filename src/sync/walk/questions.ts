import { pageSizeMax } from "../../contract/account-bills.ts";
import { compareIds } from "../../contract/compare-ids.ts";
import { type EpochMs, epochMs } from "../../contract/time.ts";
import {
  type Answer,
  type Doubt,
  type IdOrder,
  isNumber,
  isPlaced,
  lowestId,
  missing,
  type PageHabits,
  type PlacedRow,
  pageRowsMin,
} from "./answers.ts";
import { IdWalk, overlapMs, overlapRowsMax } from "./id-walk.ts";
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
  /** What is known about the ledger's ids. Each answer adds to it. */
  readonly order: IdOrder;
  /** What is known about the exchange's pages. Each answer adds to it. */
  readonly habits: PageHabits;
};

/** How many rows a page had, and how many were asked for; its lowest id and oldest time. */
type PageEnd = {
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
 * Both walks assume that pages begin with the newest bills. If nothing has shown it, the time above the newest
 * bill is asked for as well, and must be empty. A page of few rows is assumed to be the last: if a bill comes that
 * it had no room for, the window is begun anew.
 */
export class WindowQuestions {
  readonly #options: WindowOptions;
  #byTime: TimeWalk;
  #byId: IdWalk;
  #isResumed: boolean;
  /** `order.isByTime` at the last answer: another walk of the ledger may set it while a question is under way. */
  #isByTime: boolean;
  #lastPage: readonly PlacedRow[] = [];
  #newest: EpochMs | undefined;
  /** Whether bills of the newest time may fill a page that begins with it: it then begins a millisecond later. */
  #skipsNewest = false;
  #isAboveRead = false;
  /** The first page with rows. */
  #first: PageEnd | undefined;
  /** The last page that had fewer than `pageRowsMin` rows, and was not filtered. */
  #short: PageEnd | undefined;
  /** Whether bills below the first page were served: pages then begin with the newest bills. */
  #hasGoneBelow = false;
  #begun = 1;
  /** The bill for which the window was begun anew, until it is served again. */
  #before: PlacedRow | undefined;

  constructor(options: WindowOptions) {
    const { to, cursor, order, habits } = options;
    this.#options = options;
    this.#byTime = new TimeWalk(to, habits);
    this.#byId = new IdWalk(cursor);
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
    return this.#above;
  }

  /** The question about the time above the newest bill, if the first page may have begun with the oldest bills. */
  get #above(): (Question & { readonly startTime: EpochMs }) | undefined {
    const { to, settledTo = to } = this.#options;
    const endTime = epochMs(Math.min(to, settledTo));
    const newest = this.#newest ?? endTime;
    const isWanted = !this.#isAboveRead && (this.#isByTime || this.#mayLackNewest);
    if (!isWanted || endTime - newest <= 1) return undefined;
    const startTime = epochMs(newest + Number(this.#skipsNewest));
    return { startTime, endTime, idLessThan: undefined, limit: timePageSize };
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
    const doubt = this.#take(answer);
    const before = this.#before;
    if (this.next !== undefined || before === undefined || before.cTime < answer.servedFrom)
      return doubt;
    this.#beginAnew(before);
    return missing(before);
  }

  #take(answer: Omit<Answer, "limit">): Doubt | undefined {
    const question = this.next;
    if (question === undefined) return undefined;
    const { order, habits } = this.#options;
    const placed = answer.rows.filter(isPlaced);
    if (placed.some(({ billId }) => billId === this.#before?.billId)) this.#before = undefined;
    const { startTime } = question;
    if (startTime !== undefined) return this.#takeAbove(answer, { ...question, startTime });
    habits.look(answer.rows.length);
    order.look([...this.#lastPage, ...placed]);
    if (placed.length > 0) this.#lastPage = placed;
    const short = this.#short;
    const leftOut = short && placed.find((row) => isLeftOut(row, short));
    if (short !== undefined && leftOut !== undefined) {
      this.#beginAnew(leftOut);
      return tooShort(leftOut, short);
    }
    this.#lookBelow(pageEnd(answer, question.limit), placed, answer.endId);
    this.#newest = newestOf(placed, this.#newest);
    // An id that only repeats the question's leads nowhere.
    const endId = answer.endId === question.idLessThan ? undefined : answer.endId;
    const judged = { ...answer, endId, limit: question.limit };
    const doubt = this.#takeInTurn(judged);
    this.#isByTime = order.isByTime;
    if (this.#hasEndedById) {
      if (this.#doIdsFollow) this.#byTime.skipToKnown();
      else this.#byTime.skipNothing();
    }
    return doubt;
  }

  #takeInTurn(answer: Answer): Doubt | undefined {
    if (!this.#hasEndedById) return this.#takeById(answer);
    const doubt = this.#byTime.take(answer, this.#doIdsFollow);
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
    if (this.#isResumed && isAnew) this.#byId = new IdWalk();
    else if (this.#isResumed) this.#hasGoneBelow = true;
    this.#isResumed = false;
    return undefined;
  }

  #takeAbove(answer: Omit<Answer, "limit">, asked: Question & { readonly startTime: EpochMs }) {
    const { startTime, endTime, limit } = asked;
    const placed = answer.rows.filter(isPlaced);
    const newest = this.#newest ?? startTime;
    const unread = placed.find(({ cTime }) => cTime > newest && cTime < endTime);
    if (unread !== undefined) {
      this.#beginAnew(unread);
      return `bill ${unread.billId} was missing from earlier pages that should have had it`;
    }
    const isNewest = ({ cTime }: PlacedRow) => cTime === newest;
    const mayBeCut = this.#options.habits.mayBeCut(answer.rows.length, limit);
    if (!this.#skipsNewest && mayBeCut && placed.some(isNewest)) this.#skipsNewest = true;
    else this.#isAboveRead = true;
    this.#byId.see(answer);
    return undefined;
  }

  #beginAnew(before: PlacedRow): void {
    const { to, habits } = this.#options;
    this.#begun += 1;
    this.#before = before;
    this.#byId = new IdWalk();
    this.#byTime = new TimeWalk(to, habits);
    this.#lastPage = [];
    this.#first = undefined;
    this.#short = undefined;
    this.#newest = undefined;
    this.#skipsNewest = false;
    this.#isAboveRead = false;
    this.#hasGoneBelow = false;
  }

  #lookBelow(page: PageEnd | undefined, placed: readonly PlacedRow[], endId?: string): void {
    if (page === undefined) return;
    // A page that names a row which it does not show was filtered, and is not the last.
    const isFiltered =
      endId !== undefined && isNumber(endId) && placed.every(({ billId }) => billId !== endId);
    const isShort = page.rows < Math.min(pageRowsMin, page.limit) && !isFiltered;
    this.#short = isShort ? page : undefined;
    const first = this.#first;
    if (first !== undefined) this.#hasGoneBelow ||= placed.some((row) => isBelow(row, first));
    else if (!this.#isResumed) this.#first = page;
  }

  /** Whether the first page may have been cut, and begun with the oldest bills. */
  get #mayLackNewest(): boolean {
    if (this.#first === undefined || this.#hasGoneBelow) return false;
    const { rows, limit } = this.#first;
    return this.#options.habits.mayBeCut(rows, limit);
  }

  /** Whether ids follow the times: any two pages overlapped by at least twice the disorder that was seen. */
  get #doIdsFollow(): boolean {
    const { order } = this.#options;
    if (this.#isByTime) return false;
    return 2 * order.disorderMs <= Math.min(this.#byId.narrowestMs, overlapMs);
  }
}

/** Whether a short page had no room for a row. */
const isLeftOut = ({ billId, cTime }: PlacedRow, short: PageEnd): boolean =>
  cTime <= short.oldest && compareIds(billId, short.lowest) < 0;

const tooShort = ({ billId }: PlacedRow, { rows }: PageEnd): Doubt =>
  `bill ${billId} was left out of a page of ${rows === 1 ? "one row" : `${rows} rows`}, and an exchange ` +
  `whose pages have fewer than ${pageRowsMin} rows cannot be read`;

function pageEnd({ rows }: Pick<Answer, "rows">, limit: number): PageEnd | undefined {
  const placed = rows.filter(isPlaced);
  const lowest = lowestId(placed.map(({ billId }) => billId));
  if (lowest === undefined) return undefined;
  const oldest = placed.reduce(
    (time, { cTime }) => Math.min(time, cTime),
    Number.POSITIVE_INFINITY,
  );
  return { rows: rows.length, limit, lowest, oldest };
}

const isBelow = ({ billId, cTime }: PlacedRow, { lowest, oldest }: PageEnd): boolean =>
  cTime < oldest && compareIds(billId, lowest) < 0;

const newestOf = (rows: readonly PlacedRow[], before: EpochMs | undefined): EpochMs | undefined =>
  rows.reduce<EpochMs | undefined>(
    (newest, { cTime }) => epochMs(Math.max(cTime, newest ?? cTime)),
    before,
  );
