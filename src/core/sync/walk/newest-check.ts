import { type EpochMs, epochMs } from "../../../lib/time.ts";
import { pageSizeMax } from "../../contract/account-bills.ts";
import { compareIds } from "../../contract/bill.ts";
import {
  type Answer,
  type Contradiction,
  isLocated,
  type LocatedRow,
  lowestId,
  oldestRow,
  type PageLengths,
  type Question,
} from "./answers.ts";

/** A page's lowest id and oldest time, and whether it may have been cut. */
type PageEnd = {
  readonly lowest: string;
  readonly oldest: EpochMs;
  readonly mayBeCut: boolean;
};

/**
 * The check that pages begin with the newest bills, as both walks assume. A bill below the first page shows it. If none
 * came, and the first page may have been cut, the time above its newest bill is asked for, and must be empty.
 */
export class NewestCheck {
  readonly #endTime: EpochMs;
  readonly #lengths: PageLengths;
  #first: PageEnd | undefined;
  #newest: EpochMs | undefined;
  #isPassed = false;
  /** Whether bills of the newest time may fill a page that begins with it: it then begins a millisecond later. */
  #skipsNewest = false;
  /** A bill from the time above the newest one. */
  #unread: LocatedRow | undefined;

  /** @param endTime the end of the time that is asked for. Later bills may still appear. */
  constructor(endTime: EpochMs, lengths: PageLengths) {
    this.#endTime = endTime;
    this.#lengths = lengths;
  }

  end(): void {
    this.#isPassed = true;
  }

  get isPassed(): boolean {
    return this.#isPassed;
  }

  /** Learns from a page. The first one with rows began without a cursor. */
  learnFrom({ rows, limit }: Answer): void {
    const located = rows.filter(isLocated);
    const first = this.#first;
    if (first !== undefined && located.some((row) => isBelow(row, first))) this.end();
    for (const { cTime } of located) this.#newest = epochMs(Math.max(cTime, this.#newest ?? cTime));
    const oldest = oldestRow(located)?.cTime;
    const lowest = lowestId(located.map(({ billId }) => billId));
    if (oldest === undefined || lowest === undefined) return;
    this.#first ??= { lowest, oldest, mayBeCut: this.#lengths.mayBeCut(rows.length, limit) };
  }

  /** The question about the time above the newest bill; undefined where it is not needed. */
  get question(): Question | undefined {
    const [newest, endTime] = [this.#newest, this.#endTime];
    if (this.#isPassed || !this.#first?.mayBeCut) return undefined;
    if (newest === undefined || endTime - newest <= 1) return undefined;
    const startTime = epochMs(newest + Number(this.#skipsNewest));
    return { startTime, endTime, idLessThan: undefined, limit: pageSizeMax };
  }

  /** Goes on after the answer to `question`. @returns why the first page cannot have begun with the newest bills. */
  advance({ rows, limit }: Answer): Contradiction | undefined {
    const [newest = 0, endTime] = [this.#newest, this.#endTime];
    const isUnread = ({ cTime }: LocatedRow) => cTime > newest && cTime < endTime;
    this.#unread ??= rows.filter(isLocated).find(isUnread);
    if (this.#unread) return `bill ${this.#unread.billId} is missing from the window's first page`;
    if (!this.#skipsNewest && this.#lengths.mayBeCut(rows.length, limit)) this.#skipsNewest = true;
    else this.end();
    return undefined;
  }
}

const isBelow = ({ billId, cTime }: LocatedRow, { lowest, oldest }: PageEnd): boolean =>
  cTime < oldest && compareIds(billId, lowest) < 0;
