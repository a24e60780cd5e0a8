import { pageSizeMax } from "../../core/contract/account-bills.ts";
import { type BillsApi, billsApiOf } from "../../core/contract/bills-api.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import { positionsOf, readRows } from "../../core/sync/ledger-reader.ts";
import { lowestId, type RowPosition } from "../../core/sync/walk/answers.ts";
import { OutOfRangeRows } from "../../core/sync/walk/out-of-range-rows.ts";
import { PagesWithin90Days } from "../../core/sync/walk/pages.ts";
import {
  type Interval,
  intersect,
  interval,
  lengthMs,
  split,
  subtract,
  union,
} from "../../core/words/intervals.ts";
import type { ReadRows } from "../../core/words/page.ts";
import { horizonAt } from "../../core/words/plan.ts";
import { ReportableError } from "../../lib/errors.ts";
import { epochMs, isoTime } from "../../lib/time.ts";
import type { LedgerVerification, LedgerVerify, VerifyDeps } from "./verify.ts";

// At ten requests a second, less than two minutes. A week of 30,000 bills takes some 1,000.
const requestsMax = 1_000;
const askedAtOnce = 10;

/** The windows that may have held a part of these spans. */
const windowsAround = (productType: ProductType, spans: readonly Interval[]) => {
  const { windowMaxMs } = billsApiOf(productType);
  return union(spans.flatMap(({ from, to }) => interval(from - windowMaxMs, to + windowMaxMs)));
};

/** The time that {@link readAgain} compares, at most. */
export function spanAround(productType: ProductType, spans: readonly Interval[]): Interval {
  const around = windowsAround(productType, spans);
  const ends = around.flatMap(({ from, to }) => [from, to]);
  return { from: epochMs(Math.min(...ends)), to: epochMs(Math.max(...ends)) };
}

/**
 * Reads time of a ledger again, and stores what differs. Each window that may have held a part of it is read whole: beside
 * a missing bill that moved the balance, others may be missing that moved nothing. Nobody keeps which window it was, so
 * all time is read that a longest one reaches. It is asked for by time alone, and cut where an answer may have been cut,
 * so that no bill can hide behind a page. Never throws.
 *
 * @param spans the time in which something is missing. It is read first, then what is nearest to it.
 */
export async function readAgain(
  deps: Pick<VerifyDeps, "exchangeNow" | "signal">,
  ledger: LedgerVerify,
  spans: readonly Interval[],
): Promise<LedgerVerification> {
  const now = deps.exchangeNow();
  const around = windowsAround(ledger.ledger.productType, spans);
  const wanted = intersect(around, interval(horizonAt(now), now));
  try {
    const [left] = intersect(spans, await readPieces({ ...deps, reader: ledger, spans }, wanted));
    if (left !== undefined) throw notAll(left);
  } catch (error) {
    ledger.fail(error);
  }
  return ledger.result(wanted);
}

const notAll = ({ from, to }: Interval): ReportableError =>
  new ReportableError(
    `${requestsMax} requests did not read all again from ${isoTime(from)} to ${isoTime(to)}; ` +
      `bill-sync verify --repair --from ${isoTime(from)} --to ${isoTime(to)} does`,
  );

type PiecesDeps = Pick<VerifyDeps, "exchangeNow" | "signal"> & {
  readonly reader: LedgerVerify;
  readonly spans: readonly Interval[];
};

/** @returns the time for which the requests did not suffice. */
async function readPieces(
  deps: PiecesDeps,
  wanted: readonly Interval[],
): Promise<readonly Interval[]> {
  const { reader, signal, spans } = deps;
  const { windowMaxMs } = billsApiOf(reader.ledger.productType);
  const pieces = wanted.flatMap((one) => split(one, windowMaxMs));
  while (pieces.length > 0 && reader.requests < requestsMax) {
    signal.throwIfAborted();
    pieces.sort((a, b) => distanceMs(a, spans) - distanceMs(b, spans));
    const asked = pieces.splice(0, Math.min(askedAtOnce, requestsMax - reader.requests));
    // None is left at work behind an error: the account is given back then.
    const answers = await Promise.allSettled(asked.map((piece) => readPiece(deps, piece)));
    for (const answer of answers) {
      if (answer.status === "rejected") throw answer.reason;
      pieces.push(...answer.value);
    }
  }
  return pieces;
}

/** How far a piece is from the nearest span. */
const distanceMs = (piece: Interval, spans: readonly Interval[]): number =>
  Math.min(...spans.map(({ from, to }) => Math.max(from - piece.to, piece.from - to, 0)));

/** Asks for a piece of time. @returns its parts where the answer may have been cut. */
async function readPiece(
  { reader, spans, signal, exchangeNow }: PiecesDeps,
  piece: Interval,
): Promise<readonly Interval[]> {
  const { ledger, pageLengths, compared } = reader;
  const api = billsApiOf(ledger.productType);
  const startedAt = exchangeNow();
  const pages = new PagesWithin90Days(reader, signal);
  const commit = (rows: ReadRows, proven: readonly Interval[]) => {
    const next = { end: { proven, lost: subtract([piece], proven) } };
    return compared.commitPage({
      ...{ ledger, window: piece, startedAt, cursorBefore: undefined, ...rows, next },
    });
  };
  let idLessThan: string | undefined;
  do {
    const page = await pages.ask({ endTime: piece.to, idLessThan, limit: pageSizeMax }, piece);
    if (page.request === undefined) return [];
    const rows = readRows(api, page);
    const positions = positionsOf(api, rows);
    const outOfRange = new OutOfRangeRows();
    outOfRange.sort(positions, page.request);
    outOfRange.throwIfDoubtful(`${isoTime(piece.from)} to ${isoTime(piece.to)}`);
    pageLengths.learnFrom(page.rows.length);
    const isCut =
      pageLengths.mayBeCut(page.rows.length, pageSizeMax) ||
      (intersect([piece], spans).length > 0 && (await showsOlder(api, pages, piece, positions)));
    if (isCut && lengthMs([piece]) > crowdMs) return cutAtMiddle(piece, positions);
    // Few milliseconds may fill several pages, which follow by falling ids.
    await commit(
      rows,
      isCut || idLessThan !== undefined ? [] : interval(page.servedFrom, piece.to),
    );
    const lowest = lowestId(positions.flatMap(({ billId }) => billId ?? []));
    const isLower = lowest !== idLessThan;
    idLessThan = isCut && isLower ? lowest : undefined;
  } while (idLessThan !== undefined && reader.requests < requestsMax);
  return [];
}

/**
 * Whether a question beyond an answer's last row shows more: some exchanges may cut pages that are not full. It is asked
 * only where something is known to be missing, since elsewhere it would double the requests. By time it goes no further within
 * a millisecond, so one with several rows is asked for below their lowest id, too.
 */
async function showsOlder(
  api: BillsApi,
  pages: PagesWithin90Days,
  piece: Interval,
  positions: readonly RowPosition[],
): Promise<boolean> {
  const times = positions.flatMap(({ cTime }) => cTime ?? []);
  const oldest = Math.min(...times);
  if (!Number.isFinite(oldest)) return false;
  const ids = positions.flatMap(({ billId }) => billId ?? []);
  const isCrowd = times.filter((time) => time === oldest).length > 1;
  const byTime = { idLessThan: undefined, endTime: epochMs(oldest + 1), limit: pageSizeMax };
  const byId = { ...byTime, idLessThan: lowestId(ids), startTime: epochMs(oldest - 1) };
  for (const question of isCrowd ? [byTime, byId] : [byTime]) {
    const shown = positionsOf(api, readRows(api, await pages.ask(question, piece)));
    if (shown.some(({ billId }) => billId === undefined || !ids.includes(billId))) return true;
  }
  return false;
}

// A question reaches a millisecond beyond its piece, so one that touches a crowded millisecond is filled by it.
const crowdMs = 3;

/**
 * Cuts a piece at the middle of the times that it was served, and halves the older part. By halves alone, 2,000 bills
 * took 363 questions where these are 73, as a second with many of them took some twenty. A millisecond that has half of the rows is in a part of its own.
 */
function cutAtMiddle(
  { from, to }: Interval,
  positions: readonly RowPosition[],
): readonly Interval[] {
  const half = (a: number, b: number) => Math.floor((a + b) / 2);
  const times = positions.flatMap(({ cTime }) => cTime ?? []).toSorted((a, b) => a - b);
  const time = times[times.length >> 1] ?? from;
  const isCrowded = times.filter((one) => one === time).length >= times.length / 2;
  const isInside = time > from && time < to;
  const middle = isInside ? Math.max(time - (isCrowded ? 1 : 0), from) : half(from, to);
  const next = isInside && isCrowded ? Math.min(middle + crowdMs, to) : middle;
  const older = half(from, middle);
  const cuts = [from, older, middle, next, to];
  return cuts.slice(1).flatMap((cut, index) => interval(cuts[index] ?? from, cut));
}
