import { ExchangeError, type ExchangeErrorKind } from "../../lib/errors.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { BillPage } from "../contract/account-bills.ts";
import type { Bill } from "../contract/bill.ts";
import { type BillsApi, type BillsQuestion, billsApiOf } from "../contract/bills-api.ts";
import type { Client } from "../exchange/client.ts";
import type { Ledger } from "../words/ledger.ts";
import type { ReadRows, RejectedRow } from "../words/page.ts";
import { isOfProductType } from "./failure-scope.ts";
import { IdTimeOrder, PageLengths, type RowPosition } from "./walk/answers.ts";

// If the walk of their window is not served one of these bills, its time stays unread.
const probedRows = 8;

type LedgerReaderDeps = {
  readonly client: Client;
  /** @throws LeaseLostError where another run may have taken the account. */
  readonly assertHeld: () => void;
  /** Stops all reading between two pages. */
  readonly signal: AbortSignal;
  /** Called after every request, with its failure if it failed. */
  readonly onAttempt: (failure: ExchangeError | undefined) => void;
  /** What is known about the exchange's pages. The ledgers of an account's run share it. Default nothing. */
  readonly pageLengths?: PageLengths | undefined;
};

/** A refusal because the account is in the other mode is an answer, on which the caller acts. */
const isOtherMode = (kind: ExchangeErrorKind): boolean => kind === "other-mode";

/** For a probe, the refusal of the product type is an answer, too. */
const isAnswerToProbe = (kind: ExchangeErrorKind): boolean =>
  isOtherMode(kind) || isOfProductType(kind);

/** A page, and the exchange's time when it received the request. */
export type FetchedPage = BillPage & {
  readonly requestTime: EpochMs;
  /** The rows as they were served, letter for letter. Called only if a row cannot be read. */
  readonly rowTexts: () => readonly string[];
};

/** Reads a ledger, for a sync or a verification. It counts the requests and knows what ended the reading. */
export class LedgerReader {
  readonly ledger: Ledger;
  /** What is known about the order of the ledger's ids. Its walks share it. */
  readonly idTimeOrder: IdTimeOrder;
  readonly pageLengths: PageLengths;
  /** The rows that probes were served. */
  readonly probed: { readonly bills: Bill[]; readonly rejected: RejectedRow[] } = {
    bills: [],
    rejected: [],
  };
  readonly #deps: LedgerReaderDeps;
  #requests = 0;
  #hasAnswered = false;
  #refusal: ExchangeError | undefined;

  constructor(deps: LedgerReaderDeps, ledger: Ledger) {
    this.#deps = deps;
    this.ledger = ledger;
    this.pageLengths = deps.pageLengths ?? new PageLengths();
    this.idTimeOrder = new IdTimeOrder(billsApiOf(ledger.productType).idDisorderMs);
  }

  /** How many requests were sent, retries included. */
  get requests(): number {
    return this.#requests;
  }

  /** Whether the exchange has answered any request without a failure. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /**
   * Asks for one page.
   * @param question is called when the rate limit allows sending, and again for each retry.
   * @param priority of the requests that wait for the rate limit, the highest goes first.
   */
  ask(question: () => BillsQuestion, signal: AbortSignal, priority = 0): Promise<FetchedPage> {
    return this.#ask(question, signal, { priority, isAnswer: isOtherMode });
  }

  async #ask(
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
    const { operation, query, rowsAt } = billsApiOf(this.ledger.productType);
    const options = { signal, beforeSend: assertHeld, onAttempt: counted, priority };
    const { data, requestTime, sourceTexts } = await client.ask(
      operation,
      () => query(question()),
      options,
    );
    return { ...data, requestTime, rowTexts: () => sourceTexts(rowsAt) };
  }

  /** The exchange's refusal of the probe; undefined where there was none. */
  get refusal(): ExchangeError | undefined {
    return this.#refusal;
  }

  /**
   * Asks for the newest bills, to learn whether the exchange serves the ledger at all. A refusal of
   * the product type is kept in `refusal`, and is not a failure yet.
   * @throws errors that do not concern this product type alone.
   */
  async probe(): Promise<void> {
    this.#refusal = undefined;
    try {
      const asking = { priority: 0, isAnswer: isAnswerToProbe };
      const few = () => ({ limit: probedRows });
      const page = await this.#ask(few, this.#deps.signal, asking);
      this.pageLengths.learnFrom(page.rows.length);
      // Nothing of it is stored, so the rows' own texts are not looked at.
      const rows = { ...page, rowTexts: () => [] };
      const { bills, rejected } = readRows(billsApiOf(this.ledger.productType), rows);
      this.probed.bills.push(...bills);
      this.probed.rejected.push(...rejected);
    } catch (error) {
      if (!(error instanceof ExchangeError) || !isOfProductType(error.kind)) throw error;
      this.#refusal = error;
    }
  }
}

/**
 * Sends the run's first request, and no other beside it. Wrong credentials are then refused once and not
 * ten times at once. The answer also sets the exchange's clock, which planning needs. If only the product
 * type is refused, the next one is tried.
 */
export async function probeAccount(readers: readonly LedgerReader[]): Promise<void> {
  for (const reader of readers) {
    await reader.probe();
    if (reader.hasAnswered) return;
  }
}

export function readRows(api: BillsApi, { rows, rowTexts }: FetchedPage): ReadRows {
  const bills: Bill[] = [];
  const rejected: RejectedRow[] = [];
  let texts: readonly string[] | undefined;
  for (const [index, row] of rows.entries()) {
    const reading = api.read(row);
    if ("bill" in reading) bills.push(reading.bill);
    else {
      texts ??= rowTexts();
      const text = texts[index] ?? JSON.stringify(row);
      rejected.push({ received: row, text, fault: reading.fault });
    }
  }
  return { bills, rejected };
}

export const positionsOf = (
  { idOf, timeOf }: BillsApi,
  { bills, rejected }: ReadRows,
): readonly RowPosition[] => [
  ...bills,
  ...rejected.map(({ received }) => ({ billId: idOf(received), cTime: timeOf(received) })),
];
