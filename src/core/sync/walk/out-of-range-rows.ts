import { ExchangeError } from "../../../lib/errors.ts";
import { printableLine } from "../../../lib/printable.ts";
import { type EpochMs, isoTime, minuteMs } from "../../../lib/time.ts";
import { compareIds } from "../../contract/bill.ts";
import { isLocated, type LocatedRow, lowestId, type RowPosition } from "./answers.ts";
import type { PageRequest } from "./pages.ts";

// How the exchange rounds bounds is not known, so times up to a minute outside them are accepted. A page that
// answers another request is days off.
const boundsToleranceMs = minuteMs;

type AskedTime = Pick<PageRequest, "startTime" | "endTime">;

/** Whether a row's time is far outside of the time that was asked for. */
export const isOutOfRange = (
  cTime: EpochMs | undefined,
  { startTime, endTime }: AskedTime,
): boolean =>
  cTime !== undefined &&
  (cTime < startTime - boundsToleranceMs || cTime > endTime + boundsToleranceMs);

/**
 * The bills of another time that a walk was served. An exchange that finds bills by the time of their booking
 * serves those that were booked late among the others: another bill of the window has a lower id. Else the page
 * may answer another request, and bills of the window may be missing.
 */
export class OutOfRangeRows {
  readonly #late = new Set<string>();
  readonly #doubtful = new Map<string, LocatedRow>();
  #lowest: string | undefined;

  /**
   * Sorts the rows of a page by whether they are of the time that was asked for.
   * @returns those that are, and in words what bills are now known to have been booked late.
   * @throws ExchangeError where nothing of the page is of the time that was asked for, and it was not met before.
   */
  sort(
    rows: readonly RowPosition[],
    asked: AskedTime,
  ): { readonly inside: readonly RowPosition[]; readonly late: string | undefined } {
    const inside = rows.filter(({ cTime }) => !isOutOfRange(cTime, asked));
    const outside = rows.filter(({ cTime }) => isOutOfRange(cTime, asked));
    const isMet = (row: RowPosition) => isLocated(row) && this.has(row.billId);
    const isAnother = inside.length === 0 && !outside.every(isMet);
    if (isAnother || !outside.every(isLocated)) {
      throw wrong(`the page was not stored: ${answered(outside, spanText(asked))}`);
    }
    for (const row of outside) {
      if (!this.#late.has(row.billId)) this.#doubtful.set(row.billId, row);
    }
    const ids = inside.flatMap(({ billId }) => billId ?? []);
    this.#lowest = lowestId(this.#lowest === undefined ? ids : [...ids, this.#lowest]);
    const lowest = this.#lowest;
    const isLate = ({ billId }: LocatedRow) =>
      lowest !== undefined && compareIds(billId, lowest) > 0;
    const late = [...this.#doubtful.values()].filter(isLate);
    for (const { billId } of late) {
      this.#doubtful.delete(billId);
      this.#late.add(billId);
    }
    const isNew = late.length > 0;
    return {
      inside,
      late: isNew ? `booked late, and stored: ${answered(late, spanText(asked))}` : undefined,
    };
  }

  has(billId: string): boolean {
    return this.#late.has(billId) || this.#doubtful.has(billId);
  }

  /** Whether some of the pages may have answered another request. */
  get areDoubtful(): boolean {
    return this.#doubtful.size > 0;
  }

  /** @throws ExchangeError at the end of a window of which bills may be missing. */
  throwIfDoubtful(window: string): void {
    if (!this.areDoubtful) return;
    const doubtful = [...this.#doubtful.values()];
    throw wrong(
      `${answered(doubtful, window)}: what was read is stored, and the window stays unread`,
    );
  }
}

const wrong = (what: string) => new ExchangeError("malformed", `${what}; run again`);

const answered = (outside: readonly RowPosition[], asked: string): string =>
  `${rowsText(outside)} came in answer to a request for ${asked}`;

// A message names so many of them.
const namedMax = 5;

export function rowsText(outside: readonly RowPosition[]): string {
  const named = outside
    .slice(0, namedMax)
    .map(({ billId = "without an id", cTime }) =>
      cTime === undefined ? billId : `bill ${billId} of ${isoTime(cTime)}`,
    );
  const more = outside.length > namedMax ? ` and ${outside.length - namedMax} more` : "";
  return printableLine(named.join(", ")) + more;
}

const spanText = ({ startTime, endTime }: AskedTime): string =>
  `${isoTime(startTime)} to ${isoTime(endTime)}`;
