import { type BillsQuestion, billsApiOf } from "../contract/bills-api.ts";
import { ExchangeError, type ExchangeErrorKind } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import { askBills } from "./ask-bills.ts";
import { failureScope, isOfProductType } from "./failure-scope.ts";
import type { Stream } from "./store.ts";
import { IdOrder } from "./walk/id-order.ts";
import { longPageMin, PageHabits } from "./walk/page-habits.ts";
import type { FetchedPage } from "./walk/page-request.ts";

export type StreamReaderDeps = {
  readonly client: Client;
  /** @throws LeaseLostError where the account may be another's by now. */
  readonly assertHeld: () => void;
  /** Ends all reading between two pages. */
  readonly signal: AbortSignal;
  /** Told of every request, and of its failure. */
  readonly onAttempt: (failure: ExchangeError | undefined) => void;
  /** Told of the first failure. Default: nobody. */
  readonly onFirstFailure?: (error: unknown) => void;
  /** What is known of the exchange's pages: shared by the streams of an account's run. Default nothing. */
  readonly pageHabits?: PageHabits | undefined;
};

/** That the account is of the other mode is an answer, which the caller acts on. */
const isOtherMode = (kind: ExchangeErrorKind): boolean => kind === "other-mode";

/** So is to a probe that the exchange does not serve the product type. */
const isAnswerToProbe = (kind: ExchangeErrorKind): boolean =>
  isOtherMode(kind) || isOfProductType(kind);

/** A stream as a sync and a verification read it: its requests, and what ended it. */
export class StreamReader {
  readonly stream: Stream;
  /** What is known of the order of its ids: shared by its walks. */
  readonly idOrder: IdOrder;
  readonly pageHabits: PageHabits;
  readonly #deps: StreamReaderDeps;
  readonly #stopped = new AbortController();
  #requests = 0;
  #hasAnswered = false;
  #refusal: ExchangeError | undefined;
  #error: unknown;

  constructor(deps: StreamReaderDeps, stream: Stream) {
    this.#deps = deps;
    this.stream = stream;
    this.pageHabits = deps.pageHabits ?? new PageHabits();
    this.idOrder = new IdOrder(billsApiOf(stream.productType).idDisorderMs);
  }

  /** How many were sent, retries included. */
  get requests(): number {
    return this.#requests;
  }

  /** Whether the exchange has answered any of them. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** The first failure; undefined where there was none. */
  get error(): unknown {
    return this.#error;
  }

  get hasFailed(): boolean {
    return this.#error !== undefined;
  }

  /** Notes a failure, and ends the stream's other walks where it concerns them too. */
  fail(error: unknown): void {
    this.note(error);
    if (failureScope(error) !== "window") this.#stopped.abort(error);
  }

  /** Notes a failure that ends no walk. */
  note(error: unknown): void {
    if (this.hasFailed) return;
    this.#error = error;
    this.#deps.onFirstFailure?.(error);
  }

  /** Notes the refusal of its probe. Whoever probed many streams tells of all that were refused alike. */
  acceptRefusal(): void {
    this.#error ??= this.#refusal;
  }

  /** Sends one request. @param priority of those that wait for the limit, the highest goes first. */
  ask(question: () => BillsQuestion, signal: AbortSignal, priority = 0): Promise<FetchedPage> {
    return this.#ask(question, signal, { priority, isAnswer: isOtherMode });
  }

  #ask(
    question: () => BillsQuestion,
    signal: AbortSignal,
    { priority, isAnswer }: { priority: number; isAnswer: (kind: ExchangeErrorKind) => boolean },
  ): Promise<FetchedPage> {
    const { client, assertHeld, onAttempt } = this.#deps;
    const counted = (failure: ExchangeError | undefined) => {
      this.#requests += 1;
      if (failure === undefined) this.#hasAnswered = true;
      onAttempt(failure !== undefined && isAnswer(failure.kind) ? undefined : failure);
    };
    const deps = { client, assertHeld, onAttempt: counted, priority };
    return askBills(deps, this.stream.productType, question, signal);
  }

  /** What the exchange said where it did not serve the stream to a probe. */
  get refusal(): ExchangeError | undefined {
    return this.#refusal;
  }

  /**
   * Asks for a few bills, to learn whether the exchange serves the stream at all, and whether its pages
   * hold more than one. A refusal is kept, and is no failure yet.
   * @throws what does not concern this product type alone.
   */
  async probe(): Promise<void> {
    try {
      const asking = { priority: 0, isAnswer: isAnswerToProbe };
      const few = () => ({ limit: longPageMin });
      const { rows } = await this.#ask(few, this.#deps.signal, asking);
      this.pageHabits.look(rows.length);
    } catch (error) {
      if (!(error instanceof ExchangeError) || !isOfProductType(error.kind)) throw error;
      this.#refusal = error;
    }
  }

  /**
   * Walks one window.
   * @param walk is handed the signal that ends it.
   * @param accountStopped where the whole account has failed.
   * @returns what stopped it, and undefined where nothing did. Never throws.
   */
  async read(
    accountStopped: AbortSignal,
    walk: (signal: AbortSignal) => Promise<void>,
  ): Promise<unknown> {
    try {
      await walk(AbortSignal.any([this.#deps.signal, accountStopped, this.#stopped.signal]));
      return undefined;
    } catch (error) {
      this.fail(error);
      return error;
    }
  }
}

/**
 * Sends the run's first request, alone: refused credentials are then refused once and not ten times
 * at once, and the answer to a signed request sets the exchange's clock, without which nothing can be
 * planned. Where a product type is refused by itself, the next one is tried.
 */
export async function probeAccount(readers: readonly StreamReader[]): Promise<void> {
  for (const reader of readers) {
    await reader.probe();
    if (reader.hasAnswered) return;
  }
}
