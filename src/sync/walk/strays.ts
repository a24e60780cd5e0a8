import { compareIds } from "../../contract/compare-ids.ts";
import { type EpochMs, isoTime, minuteMs } from "../../contract/time.ts";
import { ExchangeError } from "../../errors.ts";
import { printableLine } from "../../printable.ts";
import { isPlaced, lowestId, type PlacedRow, type RowPlace } from "./answers.ts";
import type { PageRequest } from "./pages.ts";

// How the exchange rounds bounds is not known, so times up to a minute outside them are accepted. A page that
// answers another request is days off.
const boundsToleranceMs = minuteMs;

type AskedTime = Pick<PageRequest, "startTime" | "endTime">;

/** Whether a row's time is far outside of the time that was asked for. */
export const isStray = (cTime: EpochMs | undefined, { startTime, endTime }: AskedTime): boolean =>
  cTime !== undefined &&
  (cTime < startTime - boundsToleranceMs || cTime > endTime + boundsToleranceMs);

/** Parts the rows of a page from those of another time. */
export function partStrays(
  rows: readonly RowPlace[],
  asked: AskedTime,
): { readonly inside: readonly RowPlace[]; readonly strays: readonly RowPlace[] } {
  return {
    inside: rows.filter(({ cTime }) => !isStray(cTime, asked)),
    strays: rows.filter(({ cTime }) => isStray(cTime, asked)),
  };
}

/**
 * The bills of another time that a walk was served. An exchange that finds bills by the time of their booking
 * serves those that were booked late among the others: another bill of the window has a lower id. Else the page
 * may answer another request, and bills of the window may be missing.
 */
export class Strays {
  readonly #bills = new Map<string, PlacedRow>();
  readonly #late = new Set<string>();
  #lowest: string | undefined;

  /**
   * Takes a page.
   * @returns what bills are now known to have been booked late, in words; undefined where there are none.
   * @throws ExchangeError where nothing of the page is of the time that was asked for, and it was not met before.
   */
  take(
    inside: readonly RowPlace[],
    strays: readonly RowPlace[],
    asked: AskedTime,
  ): string | undefined {
    const isMet = (row: RowPlace) => isPlaced(row) && this.has(row.billId);
    const isAnother = inside.length === 0 && !strays.every(isMet);
    if (isAnother || !strays.every(isPlaced)) {
      throw wrong(`the page was not stored: ${answered(strays, spanText(asked))}`);
    }
    for (const stray of strays.filter(isPlaced)) this.#bills.set(stray.billId, stray);
    const ids = inside.flatMap(({ billId }) => billId ?? []);
    this.#lowest = lowestId(this.#lowest === undefined ? ids : [...ids, this.#lowest]);
    const late = [...this.#bills.values()].filter(
      (stray) => this.#isLate(stray) && !this.#late.has(stray.billId),
    );
    for (const { billId } of late) this.#late.add(billId);
    return late.length === 0
      ? undefined
      : `booked late, and stored: ${answered(late, spanText(asked))}`;
  }

  has(billId: string): boolean {
    return this.#bills.has(billId);
  }

  /** Whether some of the pages may have answered another request. */
  get areDoubtful(): boolean {
    return this.#bills.size > this.#late.size;
  }

  /** @throws ExchangeError at the end of a window of which bills may be missing. */
  refuseDoubtful(window: string): void {
    if (!this.areDoubtful) return;
    const doubtful = [...this.#bills.values()].filter((stray) => !this.#isLate(stray));
    throw wrong(
      `${answered(doubtful, window)}: what was read is stored, and the window stays unread`,
    );
  }

  #isLate({ billId }: PlacedRow): boolean {
    return this.#lowest !== undefined && compareIds(billId, this.#lowest) > 0;
  }
}

const wrong = (what: string) => new ExchangeError("malformed", `${what}; run again`);

const answered = (strays: readonly RowPlace[], asked: string): string =>
  `${strayText(strays)} came in answer to a request for ${asked}`;

// A message names so many of them.
const namedMax = 5;

export function strayText(strays: readonly RowPlace[]): string {
  const named = strays
    .slice(0, namedMax)
    .map(({ billId = "without an id", cTime }) =>
      cTime === undefined ? billId : `bill ${billId} of ${isoTime(cTime)}`,
    );
  const more = strays.length > namedMax ? ` and ${strays.length - namedMax} more` : "";
  return printableLine(named.join(", ")) + more;
}

const spanText = ({ startTime, endTime }: AskedTime): string =>
  `${isoTime(startTime)} to ${isoTime(endTime)}`;
