import { type Bill, contradictoryIds } from "../../core/contract/bill.ts";
import { type TaxApi, taxRowsMax } from "../../core/contract/tax-records.ts";
import type { Client } from "../../core/exchange/client.ts";
import { type Interval, lengthMs, subtract } from "../../core/words/intervals.ts";
import type { ReadRows, RejectedRow } from "../../core/words/page.ts";
import { ContradictionError, type ExchangeError } from "../../lib/errors.ts";
import { printableLine } from "../../lib/printable.ts";
import { type EpochMs, epochMs, isoTime } from "../../lib/time.ts";

type TaxDeps = {
  readonly client: Client;
  readonly api: TaxApi;
  readonly assertHeld: () => void;
  readonly signal: AbortSignal;
  /** How many records the answers had that were cut: others with as many may be cut, too. */
  readonly limits: Set<number>;
  /** Called after every request, with its failure if it failed. */
  readonly onAttempt: (failure: ExchangeError | undefined) => void;
};

/** The records of a window, or more of them, and whether these are all: of a millisecond, others may be missing. */
type TaxWindow = {
  readonly window: Interval;
  readonly rows: ReadRows;
  readonly isWhole: boolean;
};

// So many pairs of answers in a row may contradict each other.
const doubtsMax = 4;

/** An answer's records of the time that was asked for, in their order, and how many it had of any time. */
type TaxAnswer = { readonly rows: ReadRows; readonly count: number };

/**
 * Reads windows of tax records in this order, each in parts that an answer holds. A second question goes beyond the last
 * record of the first answer. It must have this record again, and nothing new: an answer may have been cut, by a limit that
 * is lower than it is said to be, or lack records by mistake. Then it is whole up to that record, and the rest is read.
 */
export async function* readTaxWindows(
  deps: TaxDeps,
  windows: readonly Interval[],
): AsyncGenerator<TaxWindow> {
  const left = windows.toReversed();
  const { limits } = deps;
  let doubts = 0;
  for (;;) {
    const window = left.pop();
    if (window === undefined) return;
    const answer = await ask(deps, window);
    const last = answer.rows.bills.at(-1);
    const rest = beyond(window, answer);
    const isFull = limits.has(answer.count) || answer.count >= taxRowsMax;
    const again = isFull ? answer : await ask(deps, rest);
    const names = new Set(namesOf(answer));
    const isCut = namesOf(again).some((name) => !names.has(name));
    const isServedAgain =
      last === undefined || last.cTime < rest.from || namesOf(again).includes(last.billId);
    const [twice] = contradictoryIds(answer.rows.bills);
    // One of the two answers lacks what the other has, by mistake, or has one record twice: both are asked for again.
    const isConsistent = twice === undefined && isServedAgain && (last !== undefined || !isCut);
    doubts = isConsistent ? 0 : doubts + 1;
    if (doubts > doubtsMax) throw contradiction(window, twice);
    if (doubts > 0) {
      left.push(window);
      continue;
    }
    const isWhole = !isCut && !isFull && !limits.has(again.count);
    if (isWhole || lengthMs([window]) <= 1) {
      yield { window, rows: answer.rows, isWhole };
      continue;
    }
    if (isCut && answer.count > 1) limits.add(answer.count);
    // What a full answer lacks may be anywhere in the window, and so may what its only millisecond lacks.
    const isOrdered = answer.count < taxRowsMax && onlyTime(answer) === undefined;
    const [before] = isOrdered ? subtract([window], [rest]) : [];
    if (before !== undefined) {
      yield { window: before, rows: answer.rows, isWhole: true };
      left.push(rest);
      continue;
    }
    const at = placeIn(window, answer);
    left.push({ from: window.from, to: at }, { from: at, to: window.to });
  }
}

/** @param twice the id that one answer had twice, with other content. */
const contradiction = ({ from, to }: Interval, twice: string | undefined): ContradictionError => {
  const what =
    twice === undefined
      ? "contradict each other"
      : `have record ${printableLine(twice)} twice, with other content,`;
  return new ContradictionError(
    `answers of tax records of ${isoTime(from)} to ${isoTime(to)} ${what} ${doubtsMax + 1} times; a later run asks again`,
  );
};

/** The millisecond of an answer's records; undefined where they are of several, or there are none. */
function onlyTime({ rows: { bills } }: TaxAnswer): EpochMs | undefined {
  const [only, ...others] = new Set(bills.map(({ cTime }) => cTime));
  return others.length === 0 ? only : undefined;
}

/** Where a window is divided: beside the only millisecond that its answer has, or in its middle. */
function placeIn({ from, to }: Interval, answer: TaxAnswer): EpochMs {
  const only = onlyTime(answer);
  if (only === undefined) return epochMs(Math.floor((from + to) / 2));
  return only === from ? epochMs(only + 1) : only;
}

/** The rest of a window, from the last record on in the direction of its answer: all of it where there is none. */
function beyond(window: Interval, answer: TaxAnswer): Interval {
  const { bills } = answer.rows;
  const last = bills.at(-1)?.cTime;
  if (last === undefined) return window;
  // As many of one millisecond may fill the next answer, too.
  const isCrowd = bills.length > 1 && onlyTime(answer) !== undefined && last + 1 < window.to;
  if (isCrowd) return { from: epochMs(last + 1), to: window.to };
  const follows = (sign: number) =>
    bills.every(({ cTime }, place) => sign * (cTime - (bills[place - 1]?.cTime ?? cTime)) >= 0);
  if (follows(1)) return { from: last, to: window.to };
  return follows(-1) ? { from: window.from, to: epochMs(last + 1) } : window;
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
  const { data, sourceTexts } = await client.ask(api.operation, api.query(window), options);
  const bills: Bill[] = [];
  const rejected: RejectedRow[] = [];
  const texts = sourceTexts([]);
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
