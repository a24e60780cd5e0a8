import type { EpochMs } from "../../../lib/time.ts";
import { pageSizeMax } from "../../contract/account-bills.ts";
import { compareIds } from "../../contract/bill.ts";

/** A row's id and time. A field that broke the contract is undefined. */
export type RowPosition = {
  readonly billId: string | undefined;
  readonly cTime: EpochMs | undefined;
};

/** A row whose id and time could both be read. */
export type LocatedRow = { readonly billId: string; readonly cTime: EpochMs };

export const isLocated = (row: RowPosition): row is LocatedRow =>
  row.billId !== undefined && row.cTime !== undefined;

/** The lowest of the ids; undefined where there are none. */
export const lowestId = (ids: readonly string[]): string | undefined =>
  ids.reduce<string | undefined>(
    (lowest, id) => (lowest === undefined || compareIds(id, lowest) < 0 ? id : lowest),
    undefined,
  );

/** Whether a text can be compared with bills' ids. */
export const isNumber = (id: string): boolean => /^0*[1-9]\d*$/.test(id);

/** The next higher id. With it as the cursor, an exchange serves the bill of `id` first. */
export const idAbove = (id: string): string | undefined =>
  /^\d+$/.test(id) ? String(BigInt(id) + 1n) : undefined;

/** The oldest row; of one millisecond, that with the lowest id. */
export const oldestRow = (rows: readonly LocatedRow[]): LocatedRow | undefined =>
  rows.reduce<LocatedRow | undefined>(
    (oldest, row) => (oldest === undefined || isBefore(row, oldest) ? row : oldest),
    undefined,
  );

const isBefore = (row: LocatedRow, other: LocatedRow): boolean =>
  row.cTime === other.cTime ? compareIds(row.billId, other.billId) < 0 : row.cTime < other.cTime;

/** A question to the exchange, which is answered by one page. */
export type Question = {
  /** Default the window's. */
  readonly startTime?: EpochMs;
  readonly idLessThan: string | undefined;
  readonly endTime: EpochMs;
  readonly limit: number;
};

export type Answer = {
  readonly rows: readonly RowPosition[];
  readonly endId: string | undefined;
  /** The page size that was asked for. */
  readonly limit: number;
  /** The oldest time that the exchange still served: older bills may be missing. */
  readonly servedFrom: EpochMs;
};

/** A page overlaps the one before by no more bills than this where ids follow the times. */
export const overlapRowsMin = 10;

/** How far a ledger's ids were seen to disagree with its times, and whether its pages go on by id or by time. */
export class IdTimeOrder {
  #disorderMs: number;
  #isPagedByTime = false;
  /** The most bills that a page serves again of the page before, and never more than half of them. */
  readonly overlapRowsMax: number;

  /** @param disorderMs the disorder that is known beforehand. */
  constructor(disorderMs = 0) {
    this.#disorderMs = disorderMs;
    // Where a disorder is known, ids follow the times only if pages overlap by all four seconds. With ten bills at most,
    // a dense window was read twice: by ids, and by time.
    this.overlapRowsMax = disorderMs > 0 ? pageSizeMax / 2 : overlapRowsMin;
  }

  /** Whether the exchange continues after a cursor by time, so that cursors made from ids lead nowhere. */
  get isPagedByTime(): boolean {
    return this.#isPagedByTime;
  }

  setPagedByTime(): void {
    this.#isPagedByTime = true;
  }

  /** The most by which a bill was newer than one with a higher id, or might be by the ids of its millisecond, ms. */
  get disorderMs(): number {
    return this.#disorderMs;
  }

  /** Learns from rows of neighbouring pages. */
  learnFrom(rows: readonly LocatedRow[]): void {
    const positions = rows
      .filter(({ billId }) => isNumber(billId))
      .map(({ billId, cTime }) => ({ id: BigInt(billId), cTime }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const times = positions.map(({ cTime }) => cTime).toSorted((a, b) => a - b);
    const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
    const spanIds = Number((positions.at(-1)?.id ?? 0n) - (positions[0]?.id ?? 0n));
    const lowestIds = new Map<EpochMs, bigint>();
    let newest = Number.NEGATIVE_INFINITY;
    for (const { id, cTime } of positions) {
      const lowestId = lowestIds.get(cTime) ?? id;
      lowestIds.set(cTime, lowestId);
      // Times do not tell the order within a millisecond. How far ids lie apart tells how far an older bill's may.
      const apartMs = Math.floor((Number(id - lowestId) / spanIds || 0) * spanMs);
      this.#disorderMs = Math.max(this.#disorderMs, newest - cTime, apartMs);
      newest = Math.max(newest, cTime);
    }
  }
}

/** Nobody has seen pages with fewer rows where more bills exist. A walk could not tell them from the last. */
export const pageRowsMin = 3;

/**
 * What answers have shown about the exchange's pages. The walks of a run share one, since they ask the
 * same exchange.
 */
export class PageLengths {
  #longest = 0;

  /** @param rows how many rows a page had. */
  learnFrom(rows: number): void {
    this.#longest = Math.max(this.#longest, rows);
  }

  /** Whether a page of so many rows may have been cut: it has as many as were asked for, or no page was longer. */
  mayBeCut(rows: number, limit: number): boolean {
    return rows >= pageRowsMin && rows >= Math.min(limit, this.#longest);
  }
}

/** The reason why an answer cannot be true, in words. */
export type Contradiction = string;

/**
 * Checks an answer against its witnesses: bills that were served before and belong to this answer, too. An
 * answer without any of them cannot be true. Witnesses older than `servedFrom` do not count.
 */
export function unservedWitness(
  witnesses: readonly LocatedRow[],
  { rows, servedFrom }: { readonly rows: readonly RowPosition[]; readonly servedFrom: EpochMs },
): Contradiction | undefined {
  const wanted = witnesses.filter(({ cTime }) => cTime >= servedFrom);
  const [first] = wanted;
  if (first === undefined) return undefined;
  const ids = new Set(wanted.map(({ billId }) => billId));
  const isServed = rows.some(({ billId }) => billId !== undefined && ids.has(billId));
  return isServed ? undefined : missing(first);
}

export const missing = ({ billId }: LocatedRow): Contradiction =>
  `bill ${billId} was served before and is missing from an answer that should have it`;
