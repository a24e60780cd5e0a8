import { dayMs } from "../../lib/time.ts";
import { isFar } from "./bill-numbers.ts";
import { HeldBills, type Released } from "./held-bills.ts";
import { type TypeTally, tallyBill } from "./rules.ts";
import type { Move } from "./trails.ts";

/** A bill of a chain. Amounts are in units of the check's last decimal place. */
export type ChainBill = Move & {
  readonly type: TypeTally;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly coupon: bigint;
};

/** A balance that is not the last one before it plus what the bills since then move. */
export type Residual = {
  readonly bill: ChainBill;
  /** The bill with the last balance before it. */
  readonly base: ChainBill;
  readonly expected: bigint;
  readonly balance: bigint;
  /** The balance less what was expected. */
  readonly off: bigint;
  /** How many bills there are from one balance to the other. */
  readonly steps: number;
  /** Whether rounding each of these may be the whole difference. */
  readonly isSmall: boolean;
  /** The types of these that no rule fits. Where there is one, the difference is no break. */
  readonly untestable: readonly string[];
};

type ChainOptions = {
  /** The wallet; "UTA" in a unified account. */
  readonly wallet: string;
  readonly coin: string;
  /** One unit in the last place of the exchange's balances. */
  readonly tolerance: bigint;
  /** How long after its time a bill may be booked. */
  readonly bookedMaxMs: number;
  /** From then on a late bill may still come, so that a balance that does not follow says nothing. */
  readonly reconciledThrough: number;
};

// A bill that was booked late rules out the balances since its time: some are kept for that.
const checkpointsMax = 100;

const begins = ({ isVague }: Released<ChainBill>) => (isVague ? "vague" : "follows");

/**
 * Checks one chain, bill by bill: that each balance is the one before plus what the bill moves. Bills are taken in the
 * order of their times. Among those whose times do not tell their order, that of their balances counts.
 */
export class Chain {
  readonly wallet: string;
  readonly coin: string;
  bills = 0;
  /** Bills whose balance could be computed. */
  tested = 0;
  /** How many balances are off by no more than one unit in the last place a bill; below, the sum of these differences. */
  rounded = 0;
  rounding = 0n;
  /** The time of the first balance that does not follow and is not judged yet. */
  unjudgedFrom: number | undefined;
  /** The times of the last balances that follow and are judged. */
  readonly #checkpoints: number[] = [];
  /** The days that have bills, counted from the epoch. */
  readonly days = new Set<number>();
  readonly residuals: Residual[] = [];
  readonly #options: ChainOptions;
  readonly #held: HeldBills<ChainBill>;
  /** The bill with the last balance, and what was met since. */
  #base: ChainBill | undefined;
  #steps = 0;
  #moved = 0n;
  readonly #untestable = new Set<string>();
  #day = Number.NaN;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(options: ChainOptions) {
    this.wallet = options.wallet;
    this.coin = options.coin;
    this.#options = options;
    this.#held = new HeldBills(options, (released) => this.#step(released));
  }

  /** @param bill whose time is not before that of the bill before it. */
  add(bill: ChainBill): void {
    this.#held.add(bill);
  }

  end(): void {
    this.#held.end();
  }

  /**
   * A check of the bills from this time on finds the same as a check of all. It is the time of the last balance that
   * follows and is judged, and across which no bill was booked late. Undefined if there is none.
   */
  get checkpoint(): number | undefined {
    return this.#checkpoints.at(-1);
  }

  #step(released: Released<ChainBill>): void {
    const { bill } = released;
    const { type, after, time } = bill;
    this.bills++;
    const day = Math.floor(time / dayMs);
    if (day !== this.#day) {
      this.days.add(day);
      this.#day = day;
    }
    this.#steps++;
    this.#moved += bill.moved;
    if (!type.isTestable) this.#untestable.add(type.businessType);
    // A check that began with one of these would not read this bill, or not know which comes first.
    while ((this.#checkpoints.at(-1) ?? -1) >= time) this.#checkpoints.pop();
    const isNewer = time > this.#latest;
    if (isNewer) this.#latest = time;
    if (after === undefined) return;
    const base = this.#base;
    if (base !== undefined && this.#steps === 1) this.tested++;
    const compared = base === undefined ? begins(released) : this.#compare(base, released, after);
    // The next balance that is certain has what this one should have, too.
    if (compared === "vague") return;
    if (compared === "follows" && isNewer) this.#noteCheckpoint(time);
    this.#base = bill;
    this.#steps = 0;
    this.#moved = 0n;
    this.#untestable.clear();
  }

  #noteCheckpoint(time: number): void {
    const { reconciledThrough, bookedMaxMs } = this.#options;
    // Bills may change places with bills this much older, and those with still older ones.
    if (time >= reconciledThrough - 2 * bookedMaxMs) return;
    this.#checkpoints.push(time);
    if (this.#checkpoints.length > checkpointsMax) this.#checkpoints.shift();
  }

  #compare(
    base: ChainBill,
    { bill, isVague, near }: Released<ChainBill>,
    after: bigint,
  ): "follows" | "vague" | "off" {
    const { tolerance, reconciledThrough } = this.#options;
    const steps = this.#steps;
    const expected = (base.after ?? 0n) + this.#moved;
    const off = after - expected;
    const isSmall = !isFar(off, 0n, BigInt(steps) * tolerance);
    if (!isSmall && isVague) return "vague";
    if (steps === 1) {
      const isAlone =
        bill.time < reconciledThrough && (isSmall || this.#areAlone(base, bill, near()));
      tallyBill(bill.type, bill, off, { tolerance, isAlone });
    }
    if (off === 0n) return "follows";
    if (isSmall) {
      this.rounded++;
      this.rounding += off;
    }
    if (bill.time >= reconciledThrough)
      this.unjudgedFrom = Math.min(this.unjudgedFrom ?? bill.time, bill.time);
    const untestable = [...this.#untestable];
    this.residuals.push({ bill, base, expected, balance: after, off, steps, isSmall, untestable });
    return isSmall ? "follows" : "off";
  }

  /** Whether no third bill can have changed places with one of the two. */
  #areAlone(base: ChainBill, bill: ChainBill, near: readonly ChainBill[]): boolean {
    const { bookedMaxMs } = this.#options;
    const isBeside = ({ time }: ChainBill) =>
      Math.abs(base.time - time) <= bookedMaxMs || Math.abs(bill.time - time) <= bookedMaxMs;
    return near.filter(isBeside).length === 2;
  }
}
