import { ContradictionError, CursorError } from "../../../lib/errors.ts";
import { printableLine } from "../../../lib/printable.ts";
import { type EpochMs, epochMs, isoTime } from "../../../lib/time.ts";
import { contradictoryIds } from "../../contract/bill.ts";
import { type BillsApi, billsApiOf } from "../../contract/bills-api.ts";
import { type Interval, interval, lengthMs } from "../../words/intervals.ts";
import type { Ledger, Walk } from "../../words/ledger.ts";
import type { PageCommit, PageCounts, ReadRows, WalkEnd } from "../../words/page.ts";
import { ResumePlace } from "../../words/place.ts";
import { settledTo, startSlackMs } from "../../words/plan.ts";
import {
  type Answer,
  type Doubt,
  type IdOrder,
  PageHabits,
  type Question,
  type RowPlace,
} from "./answers.ts";
import {
  type EdgePage,
  edgeAwareFetch,
  type FetchPage,
  placesOf,
  readRows,
  ServedRows,
} from "./pages.ts";
import { WindowQuestions } from "./questions.ts";
import { Strays } from "./strays.ts";
import { WindowPart } from "./window-part.ts";

type WalkDeps = {
  readonly fetchPage: FetchPage;
  readonly commitPage: (page: PageCommit) => Promise<PageCounts>;
  readonly exchangeNow: () => EpochMs;
  /** The exchange's time when the run was planned. */
  readonly plannedAt: EpochMs;
  /** How long the newest time stays settling: stored, but not yet covered. */
  readonly settleLagMs: number;
  /** What is known about the order of the ledger's ids. Its walks share it. */
  readonly idOrder: IdOrder;
  /** What is known about the exchange's pages. The walks of a run share it. Default nothing. */
  readonly pageHabits?: PageHabits;
  /** Waits before another question about a window of which nothing was served yet. Default no wait. */
  readonly pause?: () => Promise<void>;
  /** Into how many windows to divide the rest of the window: it keeps the newest. Default none is handed back. */
  readonly partsOf?: (pagesLeft: number) => number;
  readonly onPage: (progress: PageProgress) => void;
  /** Called with what is contradictory about an answer. The question is then asked again. */
  readonly onDoubt?: (what: string) => void;
  /** Ends the walk between two pages. */
  readonly signal: AbortSignal;
};

export type PageProgress = {
  readonly window: Interval;
  readonly counts: PageCounts;
  /** How much of the window's time was walked, in ms. */
  readonly walkedMs: number;
  readonly finished: boolean;
  /** How many pages the window seems to have left. */
  readonly pagesLeft: number;
  /** The older parts of the window, which this walk no longer reads. */
  readonly handedBack: readonly Walk[];
};

// 10 million bills. The bound ends the walk if the exchange never ends the window.
const pagesPerWindowMax = 100_000;

// The walk fails when so many answers in a row contradict earlier ones.
const answersMax = 5;

/**
 * Reads a window page by page, from its newest bill to its oldest. Each page is committed together
 * with the place at which a later run resumes. {@link WindowQuestions} decides what is asked next, and
 * when the window ends.
 *
 * @throws ContradictionError where the exchange's answers contradict each other; CursorError where
 *   the window does not end; ExchangeError from `fetchPage`, and for a page that answers another request;
 *   whatever `commitPage` throws; the signal's reason.
 */
export async function walkWindow(deps: WalkDeps, ledger: Ledger, walk: Walk): Promise<void> {
  const windowWalk = new WindowWalk(deps, ledger, walk);
  for (let page = 0; page < pagesPerWindowMax; page++) {
    deps.signal.throwIfAborted();
    if (await windowWalk.readPage(page)) return;
  }
  throw new CursorError(
    `${windowWalk.name} did not end within ${pagesPerWindowMax} pages; run again to go on`,
  );
}

/** An answer, its rows, and those of them that are of the time that was asked for. */
type CheckedPage = EdgePage & {
  readonly read: ReadRows;
  readonly inside: readonly RowPlace[];
};

/** The rows of an answer that were not served before, and what is needed to commit them. */
type Answered = ReadRows & {
  /** How many pages the walk has read before this one. */
  readonly number: number;
  readonly end: WalkEnd | undefined;
  /** Whether the walk goes on to what is older. */
  readonly isDescending: boolean;
};

/** The walk through one window. */
class WindowWalk {
  readonly #deps: WalkDeps;
  readonly #ledger: Ledger;
  readonly #api: BillsApi;
  readonly #questions: WindowQuestions;
  readonly #place: ResumePlace;
  readonly #served: ServedRows;
  readonly #hasBegunBefore: boolean;
  #startedAt: EpochMs;
  readonly #part: WindowPart;
  readonly #fetchPage: ReturnType<typeof edgeAwareFetch>;
  #hasRows = false;
  /** How many answers in a row could not be true. */
  #doubts = 0;
  readonly #strays = new Strays();

  constructor(deps: WalkDeps, ledger: Ledger, walk: Walk) {
    const { window, cursor, startedAt } = walk;
    this.#deps = deps;
    this.#ledger = ledger;
    this.#api = billsApiOf(ledger.productType);
    this.#served = new ServedRows(this.#api);
    this.#place = new ResumePlace(cursor);
    this.#hasBegunBefore = startedAt !== undefined;
    this.#startedAt = startedAt ?? deps.exchangeNow();
    this.#questions = new WindowQuestions({
      to: window.to,
      settledTo: settledTo(deps.settleLagMs, deps.plannedAt, this.#startedAt),
      cursor,
      order: deps.idOrder,
      habits: deps.pageHabits ?? new PageHabits(),
    });
    this.#part = new WindowPart(walk);
    this.#fetchPage = edgeAwareFetch(deps, () => this.#part.asked);
  }

  get name(): string {
    const { account, productType } = this.#ledger;
    const { from, to } = this.#part.window;
    return `${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`;
  }

  /** Asks the next question and commits its page. @returns whether the window is read to its end. */
  async readPage(number: number): Promise<boolean> {
    const question = this.#questions.next;
    if (question === undefined) return true;
    // Bills that are older than the part then do not show that it was passed.
    if (!this.#questions.doIdsFollow) this.#part.askNoOlder();
    // Two questions in quick succession might get the same false empty answer, so the second one waits.
    if (number > 0 && !this.#hasRows) await this.#deps.pause?.();
    const asked = await this.#ask(question);
    const { read, inside, readFrom, request, endId, requestTime } = asked;
    this.#hasRows ||= read.bills.length + read.rejected.length > 0;
    // The answer's time corrects our estimate, which may be ahead by half a round trip.
    if (!this.#hasBegunBefore && number === 0) {
      this.#startedAt = epochMs(Math.min(this.#startedAt, requestTime));
    }
    // Without a request nothing was asked: the horizon has passed the whole window, which is then over.
    const answer = { rows: inside, endId, servedFrom: readFrom };
    const contradictory = contradictoryIds(read.bills);
    const doubt = twiceIn(contradictory) ?? (request && this.#takeAnswer(answer));
    this.#doubts = doubt === undefined ? 0 : this.#doubts + 1;
    const hasPassed = doubt === undefined && this.#hasPassedItsPart;
    const isOver = hasPassed || request === undefined || this.#questions.next === undefined;
    const bills = read.bills.filter(({ billId }) => !contradictory.has(billId));
    const rows = this.#served.unknown({ ...read, bills });
    const end = isOver && !this.#strays.areDoubtful ? this.#endAt(readFrom) : undefined;
    const isDescending = doubt === undefined && !isOver && this.#questions.isDescending;
    await this.#commit({ ...rows, number, end, isDescending });
    if (isOver) this.#strays.refuseDoubtful(this.name);
    if (isOver) return true;
    if (doubt !== undefined) this.#reportDoubt(doubt);
    return false;
  }

  #takeAnswer(answer: Omit<Answer, "limit">): Doubt | undefined {
    const doubt = this.#questions.judge(answer);
    return doubt && `an answer of the exchange contradicts another: ${doubt}`;
  }

  async #ask(question: Question): Promise<CheckedPage> {
    const page = await this.#fetchPage(question);
    const read = readRows(this.#api, page);
    const { request } = page;
    const places = placesOf(this.#api, read);
    if (request === undefined) return { ...page, read, inside: places };
    const { inside, late } = this.#strays.judge(places, request);
    if (late !== undefined) this.#deps.onDoubt?.(late);
    return { ...page, read, inside };
  }

  /** Whether all of its part was read, as a page shows that is older. */
  get #hasPassedItsPart(): boolean {
    const { window, asked } = this.#part;
    if (window.from === asked.from || this.#strays.areDoubtful) return false;
    return this.#questions.hasPassed(window.from);
  }

  async #commit({ bills, rejected, number, end, isDescending }: Answered) {
    const part = this.#part;
    const { window } = part;
    const after = this.#place.text;
    const isStoring = bills.length + rejected.length > 0;
    const isAnew = this.#hasFailed || this.#strays.areDoubtful;
    const resumeBelow = isAnew ? undefined : this.#questions.resumeBelow;
    this.#place.moveTo({ resumeBelow, number, isStoring });
    part.descend(bills.filter(({ billId }) => !this.#strays.has(billId)));
    const pagesLeft = isDescending && !isAnew ? part.pagesLeft : 0;
    const handedBack = part.divide(this.#deps.partsOf?.(pagesLeft) ?? 1);
    const place = { cursor: this.#place.text, handedBack: handedBack.map((walk) => walk.window) };
    const changesNothing = !isStoring && handedBack.length === 0 && place.cursor === after;
    if (changesNothing && end === undefined) return;
    const next = end === undefined ? place : { end };
    const [ledger, startedAt] = [this.#ledger, this.#startedAt];
    const page = { ledger, window, startedAt, after, bills, rejected, next };
    const counts = await this.#deps.commitPage(page);
    part.handBack(handedBack);
    const finished = end !== undefined;
    const walkedMs = finished ? lengthMs([window]) : part.walkedMs;
    this.#deps.onPage({ window, counts, finished, walkedMs, pagesLeft, handedBack });
  }

  /** The time that a finished walk proves: what it read, without the newest part that is still settling. */
  #endAt(readFrom: EpochMs): WalkEnd {
    const { plannedAt, exchangeNow, settleLagMs } = this.#deps;
    const { window, isLedgerStart } = this.#part;
    const { from, to } = window;
    const provenTo = settledTo(settleLagMs, plannedAt, this.#startedAt, exchangeNow());
    const isStart = isLedgerStart && readFrom - from <= startSlackMs;
    return {
      proven: interval(Math.max(from, readFrom), Math.min(to, provenTo)),
      lost: isStart ? [] : interval(from, Math.min(readFrom, to)),
    };
  }

  get #hasFailed(): boolean {
    return this.#doubts >= answersMax;
  }

  /** Reports the contradiction. The question is asked again, or the walk fails after `answersMax`. */
  #reportDoubt(doubt: Doubt): void {
    const what = printableLine(doubt);
    this.#deps.onDoubt?.(`${what}; asked again`);
    if (!this.#hasFailed) return;
    throw new ContradictionError(
      `${what}, in ${this.name}, ${answersMax} times; the window stays unread, and the ` +
        "bills that came from it so far are kept; run again",
    );
  }
}

/** The doubt about an answer that has several bills of one id, with other content. */
function twiceIn(ids: ReadonlySet<string>): Doubt | undefined {
  const [id] = ids;
  return (
    id &&
    `an answer of the exchange contradicts itself: bill ${id} is in it twice, with other content`
  );
}
