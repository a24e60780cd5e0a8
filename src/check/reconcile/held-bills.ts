import { isFar } from "./bill-numbers.ts";
import { beginOf, bestOrder, byId, byTime, type Move } from "./trails.ts";

type HeldOptions = {
  /** How far equal balances may differ, for each bill between them. */
  readonly tolerance: bigint;
  /** How long after its time a bill may be booked. */
  readonly bookedMaxMs: number;
};

export type Released<Bill> = {
  readonly bill: Bill;
  /** Whether it may be anywhere among the bills beside it, since no order fits and some show no balance. */
  readonly isVague: boolean;
  /** The bills that may have changed places with it or with the one before it, with these two. */
  readonly neighbours: () => readonly Bill[];
};

/** The balance at a place of the chain, and how many bills were passed since one was served. */
type Level = { readonly balance: bigint | undefined; readonly hidden: number };

const levelAfter = ({ balance, hidden }: Level, { after, moved }: Move): Level => ({
  balance: after ?? (balance === undefined ? undefined : balance + moved),
  hidden: after === undefined ? hidden + 1 : 0,
});

// Bills in memory since the last balance, where none is served.
const nearMax = 10_000;

/**
 * The last bills of a chain, for as long as one that is still to come may have moved the balance before them. They are
 * released so that each follows the one before it, where they can be one trail. In a classic account bills may change
 * places within their millisecond; in a unified one, within the seconds that a bill may be booked after its time.
 */
export class HeldBills<Bill extends Move> {
  readonly #options: HeldOptions;
  readonly #release: (released: Released<Bill>) => void;
  /** The bills of the newest time. */
  #newest: Bill[] = [];
  /** Those before: first those that follow each other, then those that do not, or come after one that does not. */
  #held: Bill[] = [];
  #following = 0;
  /** Before the first of these, and after the last one that follows. */
  #before: Level = { balance: undefined, hidden: 0 };
  #after: Level = this.#before;
  /** Up to this time, bills that show no balance may be anywhere among the others. */
  #vagueTo = Number.NEGATIVE_INFINITY;
  /** Bills that were released, since the last balance. */
  #released: Bill[] = [];

  constructor(options: HeldOptions, release: (released: Released<Bill>) => void) {
    this.#options = options;
    this.#release = release;
  }

  /** Where the balance before the first bill is known. */
  begin(balance: bigint): void {
    this.#before = { balance, hidden: 0 };
    this.#after = this.#before;
  }

  /** @param bill whose time is not before that of the bill before it. */
  add(bill: Bill): void {
    const [newest] = this.#newest;
    if (newest !== undefined && newest.time < bill.time) this.#follow();
    this.#newest.push(bill);
  }

  end(): void {
    this.#follow();
    while (this.#following < this.#held.length) this.#reorder(Number.POSITIVE_INFINITY, undefined);
    this.#releaseFirst(this.#held.length);
  }

  /** All bills of the newest time are here. */
  #follow(): void {
    const group = this.#newest.length > 1 ? this.#newest.toSorted(byId) : this.#newest;
    const [first] = group;
    if (first === undefined) return;
    this.#newest = [];
    const { bookedMaxMs } = this.#options;
    // Bills that were booked before one of this time may be dated as much later again.
    while (first.time - (this.#held[this.#following]?.time ?? first.time) > 2 * bookedMaxMs)
      this.#reorder(first.time, beginOf(group));
    this.#held.push(...group);
    // Where the balance before several bills is not known, the bill after them may tell in which order they are.
    if (group.length === 1 || this.#after.balance !== undefined) this.#countFollowing();
    this.#releaseSettled(first.time);
  }

  /** Releases those that change places with no bill of this time, or of that of the first one that does not follow. */
  #releaseSettled(time: number): void {
    const open = this.#held[this.#following];
    const before = (open === undefined ? time + 1 : open.time) - this.#options.bookedMaxMs;
    let count = 0;
    while (count < this.#following && (this.#held[count]?.time ?? before) < before) count++;
    this.#releaseFirst(count);
  }

  #countFollowing(): void {
    for (const bill of this.#held.slice(this.#following)) {
      if (this.#isOff(bill, this.#after)) return;
      this.#after = levelAfter(this.#after, bill);
      this.#following++;
    }
  }

  #isOff({ after, moved }: Move, { balance, hidden }: Level): boolean {
    if (after === undefined || balance === undefined) return false;
    return isFar(after - moved, balance, BigInt(hidden + 1) * this.#options.tolerance);
  }

  /**
   * Puts the held bills in order, and gives up on those that still do not follow and that no later bill can explain.
   * @param time all bills before it are held.
   * @param end the balance with which those of this time begin.
   */
  #reorder(time: number, end: bigint | undefined): void {
    const { bookedMaxMs } = this.#options;
    const start = this.#before.balance;
    const bills = this.#held.toSorted(byTime);
    this.#held = [...bestOrder({ ...this.#options, bills, start, end }).bills];
    const isSettled = (bill: Bill) => bill.time < time - bookedMaxMs;
    let [level, given] = [this.#before, 0];
    for (const [index, bill] of this.#held.entries()) {
      if (this.#isOff(bill, level) && isSettled(bill)) given = index + 1;
      level = levelAfter(level, bill);
    }
    const hidden = bills.filter(({ after }) => after === undefined);
    if (start === undefined && hidden.length > 0 && bills.every(isSettled)) given = bills.length;
    if (given > 0)
      for (const { time } of hidden) this.#vagueTo = Math.max(this.#vagueTo, time + bookedMaxMs);
    this.#releaseFirst(given);
    this.#after = this.#before;
    this.#following = 0;
    this.#countFollowing();
  }

  #releaseFirst(count: number): void {
    if (count === 0) return;
    const released = this.#held.splice(0, count);
    this.#following = Math.max(0, this.#following - count);
    for (const [index, bill] of released.entries()) {
      const neighbours = () => [...this.#released, ...released.slice(index), ...this.#held];
      this.#release({ bill, isVague: bill.time <= this.#vagueTo, neighbours });
      this.#before = levelAfter(this.#before, bill);
      this.#keep(bill);
    }
  }

  #keep(bill: Bill): void {
    this.#released.push(bill);
    if (this.#released.length > nearMax) this.#released.splice(0, nearMax / 2);
    if (bill.after === undefined) return;
    const from = bill.time - this.#options.bookedMaxMs;
    while ((this.#released[0]?.time ?? from) < from) this.#released.shift();
  }
}
