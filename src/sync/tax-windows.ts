import type { Bill } from "../contract/bill.ts";
import { type TaxApi, taxRowsMax } from "../contract/tax-records.ts";
import { epochMs } from "../contract/time.ts";
import type { ExchangeError } from "../errors.ts";
import type { Client } from "../exchange/client.ts";
import { type Interval, lengthMs } from "./intervals.ts";
import type { ReadRows, RejectedRow } from "./store.ts";

export type TaxDeps = {
  readonly client: Client;
  readonly api: TaxApi;
  readonly assertHeld: () => void;
  readonly signal: AbortSignal;
  /** Called after every request, with its failure if it failed. */
  readonly onAttempt: (failure: ExchangeError | undefined) => void;
};

/** The records of a window, and whether it is a millisecond that may have more. */
type TaxWindow = {
  readonly window: Interval;
  readonly rows: ReadRows;
  readonly isCrowded: boolean;
};

/** An answer's records of the time that was asked for, in their order, and how many it had of any time. */
type TaxAnswer = { readonly rows: ReadRows; readonly count: number };

/**
 * Reads windows of tax records in this order, each in parts that an answer holds, newest part first. A second question
 * goes beyond the last record of the first answer. It must have this record again, and nothing new: an answer may have
 * been cut, by a limit that is lower than it is said to be, or lack records by mistake.
 */
export async function* readTaxWindows(
  deps: TaxDeps,
  windows: readonly Interval[],
): AsyncGenerator<TaxWindow> {
  const left = windows.toReversed();
  // How many records the answers had that were cut. Two with as many show a limit; one may have lacked a record by mistake.
  const cuts: number[] = [];
  const isLimit = (count: number) =>
    count >= taxRowsMax || (count > 1 && cuts.filter((cut) => cut === count).length > 1);
  for (;;) {
    const window = left.pop();
    if (window === undefined) return;
    const answer = await ask(deps, window);
    const last = answer.rows.bills.at(-1);
    const rest = beyond(window, answer.rows.bills[0], last);
    const again = isLimit(answer.count) ? answer : await ask(deps, rest);
    const names = new Set(namesOf(answer));
    const isCut = namesOf(again).some((name) => !names.has(name));
    if (isCut) cuts.push(answer.count);
    const isServedAgain = last === undefined || namesOf(again).includes(last.billId);
    const isWhole = isServedAgain && !isCut && !isLimit(again.count);
    if (isWhole || lengthMs([window]) <= 1) {
      yield { window, rows: answer.rows, isCrowded: !isWhole };
      continue;
    }
    const middle = epochMs(Math.floor((window.from + window.to) / 2));
    left.push({ from: window.from, to: middle }, { from: middle, to: window.to });
  }
}

/** The rest of a window, from the last record on in the direction of its answer: all of it without a record. */
function beyond(window: Interval, first: Bill | undefined, last: Bill | undefined): Interval {
  if (first === undefined || last === undefined) return window;
  return first.cTime > last.cTime
    ? { from: window.from, to: epochMs(last.cTime + 1) }
    : { from: last.cTime, to: window.to };
}

const namesOf = ({ rows: { bills, rejected } }: TaxAnswer): readonly string[] => [
  ...bills.map(({ billId }) => billId),
  ...rejected.map(({ text }) => text),
];

async function ask(
  { client, api, assertHeld, signal, onAttempt }: TaxDeps,
  window: Interval,
): Promise<TaxAnswer> {
  signal.throwIfAborted();
  const options = { signal, beforeSend: assertHeld, onAttempt };
  const { data, written } = await client.ask(api.operation, api.query(window), options);
  const bills: Bill[] = [];
  const rejected: RejectedRow[] = [];
  const texts = written([]);
  for (const [place, received] of data.entries()) {
    const reading = api.read(received);
    if ("fault" in reading) {
      const text = texts[place] ?? JSON.stringify(received);
      rejected.push({ received, text, fault: reading.fault });
    } else if (reading.bill.cTime >= window.from && reading.bill.cTime < window.to)
      bills.push(reading.bill);
  }
  return { rows: { bills, rejected }, count: data.length };
}
