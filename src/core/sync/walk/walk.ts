import { ContradictionError, CursorError } from "../../../lib/errors.ts";
import { printableLine } from "../../../lib/printable.ts";
import { dayMs, type EpochMs, epochMs, isoTime } from "../../../lib/time.ts";
import { contradictoryIds } from "../../contract/bill.ts";
import { type BillsApi, billsApiOf } from "../../contract/bills-api.ts";
import { interval, lengthMs } from "../../words/intervals.ts";
import type { PlannedWindow } from "../../words/ledger.ts";
import { type PageCommit, type ReadRows, type WalkEnd, WindowCursor } from "../../words/page.ts";
import { horizonAt, settledUntil, startSlackMs } from "../../words/plan.ts";
import { positionsOf, readRows } from "../ledger-reader.ts";
import type { LedgerRun } from "../ledger-run.ts";
import type { PartsWanted } from "../walk-queue.ts";
import type { Answer, Contradiction } from "./answers.ts";
import { OutOfRangeRows } from "./out-of-range-rows.ts";
import { type AskedPage, PagesWithin90Days, ServedRows } from "./pages.ts";
import { WindowQuestions } from "./questions.ts";
import { WindowProgress } from "./window-progress.ts";

type WalkOptions = {
  /** Ends the walk between two pages. */
  readonly signal: AbortSignal;
  /** Into how many windows to divide the rest of the window: it keeps the newest. */
  readonly partsWanted: PartsWanted;
};

// 10 million bills. The bound ends the walk if the exchange never ends the window.
const pagesPerWindowMax = 100_000;

// The walk fails when so many answers in a row contradict earlier ones.
const answersMax = 5;

// A window that begins this close to the horizon goes before all others, however short it is.
const expiresSoonMs = dayMs;

/**
 * The walk through a window, from its newest bill to its oldest: {@link ask}, {@link check}, commit, until it is over. Each
 * page is committed together with the cursor at which a later run resumes. {@link WindowQuestions} decides what is asked
 * next, and when the window ends.
 */
export class WindowWalk {
  readonly #run: LedgerRun;
  readonly #options: WalkOptions;
  readonly #api: BillsApi;
  readonly #questions: WindowQuestions;
  readonly #pages: PagesWithin90Days;
  readonly #cursor: WindowCursor;
  readonly #served: ServedRows;
  readonly #outOfRange = new OutOfRangeRows();
  readonly #hasBegunBefore: boolean;
  #startedAt: EpochMs;
  readonly #progress: WindowProgress;
  /** How many pages were asked for. */
  #number = 0;
  #pagesLeft = Number.POSITIVE_INFINITY;
  #hasRows = false;
  #isOver = false;
  /** Why the last answer cannot be true, and how many in a row could not. */
  #contradiction: Contradiction | undefined;
  #contradictions = 0;
  /** The expected bill that the walk of its time was not served. */
  #missingBill: string | undefined;
  #handedBack: readonly PlannedWindow[] = [];
  #walkedMs = 0;

  constructor(run: LedgerRun, planned: PlannedWindow, options: WalkOptions) {
    const { window, cursor, startedAt } = planned;
    this.#run = run;
    this.#options = options;
    this.#api = billsApiOf(run.ledger.productType);
    this.#served = new ServedRows(this.#api);
    this.#cursor = new WindowCursor(cursor);
    this.#hasBegunBefore = startedAt !== undefined;
    this.#startedAt = startedAt ?? run.exchangeNow();
    this.#questions = new WindowQuestions({
      to: window.to,
      settledUntil: settledUntil(run.settleLagMs, run.plannedAt, this.#startedAt),
      cursor,
      order: run.idTimeOrder,
      lengths: run.pageLengths,
    });
    this.#pages = new PagesWithin90Days(run, options.signal);
    this.#progress = new WindowProgress(planned);
  }

  /** Whether the window was read to its end. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** How much of the window's time was walked, in ms. */
  get walkedMs(): number {
    return this.#walkedMs;
  }

  get #name(): string {
    const { account, productType } = this.#run.ledger;
    const { from, to } = this.#progress.window;
    return `${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`;
  }

  /**
   * Asks the next question.
   * @throws CursorError where the window does not end; ExchangeError; the signal's reason.
   */
  async ask(): Promise<AskedPage> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    const question = this.#questions.next;
    if (question === undefined || this.#number === pagesPerWindowMax)
      throw new CursorError(
        `${this.#name} did not end within ${pagesPerWindowMax} pages; run again to go on`,
      );
    // Where ids disagree with times, older bills on a page do not prove that all bills of the part were served.
    if (!this.#questions.doIdsFollowTimes) this.#progress.askNoOlder();
    // Two questions in quick succession might get the same false empty answer, so the second one waits.
    if (this.#number > 0 && !this.#hasRows) await this.#run.pause(signal);
    this.#number += 1;
    return this.#pages.ask(question, this.#progress.asked, this.#priority);
  }

  /**
   * Each page's request needs the cursor of the page before, so a walk uses one slot of the rate limit at a time. The longest
   * goes first, so that all end at about the same time; first pages go before all others, since they show how long the walks
   * are.
   */
  get #priority(): number {
    const leftMs = this.#progress.window.from - horizonAt(this.#run.exchangeNow());
    return leftMs < expiresSoonMs ? Number.POSITIVE_INFINITY : this.#pagesLeft;
  }

  /**
   * Makes of an answer the page to commit.
   * @returns undefined where it changes nothing.
   * @throws ExchangeError where the page answers another request.
   */
  check(answer: AskedPage): PageCommit | undefined {
    const { servedFrom, request, endId, requestTime } = answer;
    const read = readRows(this.#api, answer);
    const positions = positionsOf(this.#api, read);
    const { inside, late } =
      request === undefined
        ? { inside: positions, late: undefined }
        : this.#outOfRange.sort(positions, request);
    if (late !== undefined) this.#run.tell(late);
    this.#hasRows ||= positions.length > 0;
    // The answer's time corrects our estimate, which may be ahead by half a round trip.
    if (!this.#hasBegunBefore && this.#number === 1)
      this.#startedAt = epochMs(Math.min(this.#startedAt, requestTime));
    const contradictory = contradictoryIds(read.bills);
    // Without a request nothing was asked: the horizon has passed the whole window, which is then over.
    this.#contradiction =
      twiceIn(contradictory) ?? (request && this.#advance({ rows: inside, endId, servedFrom }));
    this.#contradictions = this.#contradiction === undefined ? 0 : this.#contradictions + 1;
    const hasPassed = this.#contradiction === undefined && this.#hasPassedItsWindow;
    this.#isOver = hasPassed || request === undefined || this.#questions.next === undefined;
    const bills = read.bills.filter(({ billId }) => !contradictory.has(billId));
    const rows = this.#served.withoutKnown({ ...read, bills });
    const end = this.#isOver && !this.#outOfRange.areDoubtful ? this.#endAt(servedFrom) : undefined;
    this.#missingBill = this.#missingFrom(rows, end);
    return this.#pageOf(rows, end);
  }

  #advance(answer: Omit<Answer, "limit">): Contradiction | undefined {
    const contradiction = this.#questions.advance(answer);
    return contradiction && `an answer of the exchange contradicts another: ${contradiction}`;
  }

  /** The windows that the last page left to other walks. */
  get handedBack(): readonly PlannedWindow[] {
    return this.#handedBack;
  }

  /**
   * Called once the page is committed. A question whose answer contradicts others is asked again, `answersMax` times.
   * @throws ContradictionError, or ExchangeError, where the window cannot be read.
   */
  throwIfContradicted(): void {
    const { from, to } = this.#progress.window;
    if (this.#missingBill !== undefined)
      throw new ContradictionError(
        `the exchange served bill ${printableLine(this.#missingBill)} first, and left it out of its time, ` +
          `${isoTime(from)} to ${isoTime(to)}, which stays unread; run again`,
      );
    if (this.#isOver) this.#outOfRange.throwIfDoubtful(this.#name);
    if (this.#isOver || this.#contradiction === undefined) return;
    const what = printableLine(this.#contradiction);
    this.#run.tell(`${what}; asked again`);
    if (!this.#hasFailed) return;
    throw new ContradictionError(
      `${what}, in ${this.#name}, ${answersMax} times; the window stays unread, and the ` +
        "bills that came from it so far are kept; run again",
    );
  }

  /** Whether all of its window was read, as a page with older bills shows. */
  get #hasPassedItsWindow(): boolean {
    const { window, asked } = this.#progress;
    if (window.from === asked.from || this.#outOfRange.areDoubtful) return false;
    return this.#questions.hasReadDownTo(window.from);
  }

  /** An expected bill of the time that the walk has proven, which no walk was served. */
  #missingFrom({ bills, rejected }: ReadRows, end: WalkEnd | undefined): string | undefined {
    const { expectedBills } = this.#run;
    for (const { billId } of bills) expectedBills.delete(billId);
    for (const { received } of rejected) expectedBills.delete(this.#api.idOf(received) ?? "");
    const isProven = (time: EpochMs) =>
      end?.proven.some(({ from, to }) => time >= from && time < to) ?? false;
    return [...expectedBills].find(([, time]) => isProven(time))?.[0];
  }

  #pageOf({ bills, rejected }: ReadRows, end: WalkEnd | undefined): PageCommit | undefined {
    const [{ ledger }, progress, startedAt] = [this.#run, this.#progress, this.#startedAt];
    const { window } = progress;
    const cursorBefore = this.#cursor.text;
    const isStoring = bills.length + rejected.length > 0;
    const beginsAnew = this.#hasFailed || this.#outOfRange.areDoubtful;
    const resumeBelow = beginsAnew ? undefined : this.#questions.resumeBelow;
    this.#cursor.moveTo({ resumeBelow, number: this.#number - 1, isStoring });
    progress.descend(bills.filter(({ billId }) => !this.#outOfRange.has(billId)));
    this.#walkedMs = end === undefined ? progress.walkedMs : lengthMs([window]);
    const isDescending =
      this.#contradiction === undefined &&
      !this.#isOver &&
      !beginsAnew &&
      this.#questions.isDescending;
    const pagesLeft = isDescending ? progress.pagesLeft : 0;
    const tookMs = this.#run.exchangeNow() - this.#pages.sentAt;
    this.#handedBack = progress.divide(this.#options.partsWanted(pagesLeft, tookMs));
    const handedBack = this.#handedBack.map((part) => part.window);
    const changesNothing =
      !isStoring && handedBack.length === 0 && this.#cursor.text === cursorBefore;
    if (changesNothing && end === undefined) return undefined;
    this.#pagesLeft = pagesLeft;
    progress.handBack(this.#handedBack);
    // Without a cursor, the next run does not resume below the missing bill.
    const cursor = this.#missingBill === undefined ? this.#cursor.text : undefined;
    const isEnd = end !== undefined && this.#missingBill === undefined;
    const next = isEnd ? { end } : { cursor, handedBack };
    return { ledger, window, startedAt, cursorBefore, bills, rejected, next };
  }

  /** The time that a finished walk proves: what it read, without the newest part that is still settling. */
  #endAt(servedFrom: EpochMs): WalkEnd {
    const { plannedAt, settleLagMs } = this.#run;
    const { window, isLedgerStart } = this.#progress;
    const { from, to } = window;
    const provenTo = settledUntil(settleLagMs, plannedAt, this.#startedAt, this.#run.exchangeNow());
    const isStart = isLedgerStart && servedFrom - from <= startSlackMs;
    return {
      proven: interval(Math.max(from, servedFrom), Math.min(to, provenTo)),
      lost: isStart ? [] : interval(from, Math.min(servedFrom, to)),
    };
  }

  get #hasFailed(): boolean {
    return this.#contradictions >= answersMax;
  }
}

/** The contradiction of an answer that has several bills of one id, with other content. */
function twiceIn(ids: ReadonlySet<string>): Contradiction | undefined {
  const [id] = ids;
  return (
    id &&
    `an answer of the exchange contradicts itself: bill ${id} is in it twice, with other content`
  );
}
