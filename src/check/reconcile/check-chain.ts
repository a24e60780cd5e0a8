import { dayMs } from "../../lib/time.ts";
import type { ChainBill } from "./order.ts";
import { ReorderBuffer } from "./reorder-buffer.ts";
import { tallyBill } from "./rules.ts";

type BillRef = {
  readonly productType: string;
  readonly billId: string;
  readonly time: number;
};

/** A balance that is not the last one before it plus what the bills since then move. */
export type Residual = {
  readonly bill: BillRef;
  /** The bill with the last balance before it. */
  readonly base: BillRef;
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
  /** Whether the difference is what the fee's sign makes. */
  readonly isFeeSign: boolean;
  /** Two bills that are equal except for their ids, and explain the difference. */
  readonly double: readonly [billId: string, twinId: string] | undefined;
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

const refOf = ({ productType, billId, time }: ChainBill): BillRef => ({
  productType,
  billId,
  time,
});

/**
 * Checks one chain, bill by bill: that each balance is the one before plus what the bill moves. Bills are taken in
 * the order of their times. Those whose balances show another order are put in it.
 */
export class Chain {
  readonly wallet: string;
  readonly coin: string;
  bills = 0;
  /** Bills whose balance could be computed. */
  tested = 0;
  /** How many balances are off by no more than rounding; below, the sum of these differences. */
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
  readonly #held: ReorderBuffer;
  /** The bill with the last balance, and what was met since. */
  #base: ChainBill | undefined;
  #steps = 0;
  #moved = 0n;
  readonly #untestable = new Set<string>();
  #day = Number.NaN;

  constructor(options: ChainOptions) {
    this.wallet = options.wallet;
    this.coin = options.coin;
    this.#options = options;
    this.#held = new ReorderBuffer(options, (bill) => this.#step(bill));
  }

  /** @param bill whose time is not before that of the bill before it. */
  take(bill: ChainBill): void {
    this.#held.take(bill);
  }

  end(): void {
    this.#held.end();
  }

  /**
   * A check of the bills from this time on finds the same as a check of all. It is the time of the last balance that
   * follows, is judged, and lies between no bill and the time at which that was booked. Undefined if there is none.
   */
  get checkpoint(): number | undefined {
    return this.#checkpoints.at(-1);
  }

  /** The bills that were found in another place since the last call. */
  takeMoved(): readonly ChainBill[] {
    return this.#held.takeMoved();
  }

  #step(bill: ChainBill): void {
    const { type, after } = bill;
    this.bills++;
    const day = Math.floor(bill.time / dayMs);
    if (day !== this.#day) {
      this.days.add(day);
      this.#day = day;
    }
    this.#steps++;
    this.#moved += bill.moved;
    if (!type.isTestable) this.#untestable.add(type.businessType);
    while (bill.at > bill.time && (this.#checkpoints.at(-1) ?? -1) >= bill.time)
      this.#checkpoints.pop();
    if (this.#base !== undefined && after !== undefined && this.#steps === 1) this.tested++;
    if (after === undefined) return;
    const isFollowing = this.#base === undefined || this.#compare(this.#base, bill, after);
    if (isFollowing) this.#noteCheckpoint(bill);
    this.#base = bill;
    this.#steps = 0;
    this.#moved = 0n;
    this.#untestable.clear();
  }

  #noteCheckpoint({ time, at }: ChainBill): void {
    const { reconciledThrough, bookedMaxMs } = this.#options;
    // Bills may change places with bills this much older, and those with still older ones.
    if (at > time || time >= reconciledThrough - 2 * bookedMaxMs) return;
    this.#checkpoints.push(time);
    if (this.#checkpoints.length > checkpointsMax) this.#checkpoints.shift();
  }

  /** @returns whether the balance follows. */
  #compare(base: ChainBill, bill: ChainBill, after: bigint): boolean {
    const { tolerance, reconciledThrough } = this.#options;
    const steps = this.#steps;
    const expected = (base.after ?? 0n) + this.#moved;
    const off = after - expected;
    const facts = this.#held.factsOf(bill);
    if (steps === 1) {
      const isAlone = facts.isAlone && bill.time < reconciledThrough;
      tallyBill(bill.type, bill, off, { tolerance, isAlone });
    }
    if (off === 0n) return true;
    const size = off < 0n ? -off : off;
    const isSmall = size <= BigInt(steps) * tolerance;
    if (isSmall) {
      this.rounded++;
      this.rounding += off;
    }
    if (bill.time >= reconciledThrough)
      this.unjudgedFrom = Math.min(this.unjudgedFrom ?? bill.time, bill.time);
    const feeSize = bill.fee < 0n ? -bill.fee : bill.fee;
    const withFee = off + 2n * bill.fee;
    this.residuals.push({
      bill: refOf(bill),
      base: refOf(base),
      expected,
      balance: after,
      off,
      steps,
      isSmall,
      untestable: [...this.#untestable],
      isFeeSign: feeSize > tolerance && withFee <= tolerance && withFee >= -tolerance,
      double: facts.double,
    });
    return isSmall;
  }
}
