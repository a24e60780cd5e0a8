import { bookedMaxMsOf } from "../../core/contract/product-types.ts";
import type { Unexplained } from "../../core/postgres/schema/reconciliation-schema.ts";
import { shortText, withoutZeros } from "../../lib/decimal.ts";
import { dayMs, epochMs, isoTime } from "../../lib/time.ts";
import { isFar } from "./bill-numbers.ts";
import type { FoundBreak, Row } from "./breaks.ts";
import { type Coverage, unreadPart } from "./coverage.ts";
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
type Mismatch = {
  readonly bill: ChainBill;
  /** The bill with the last balance before it. */
  readonly base: ChainBill;
  readonly expected: bigint;
  readonly balance: bigint;
  /** The balance less what was expected. */
  readonly off: bigint;
  /** How many bills there are from one balance to the other. */
  readonly bills: number;
  /** Whether rounding each of these may be the whole difference. */
  readonly isSmall: boolean;
  /** The types of these that no rule fits. Where there is one, the difference is no break. */
  readonly untestable: readonly string[];
};

type ChainOptions = {
  /** The wallet; "UTA" in a unified account. */
  readonly wallet: string;
  readonly coin: string;
  /** How many decimal places are computed with. */
  readonly decimals: number;
  /** Undefined where nothing of the wallet was read. */
  readonly coverage: Coverage | undefined;
  /** What the last check of all bills counted, where this one is of the newest. */
  readonly earlier: RoundedBills | undefined;
};

type RoundedBills = {
  /** Bills whose balance could be computed. */
  readonly tested: number;
  /** How many balances are off by no more than one unit in the last place a bill. */
  readonly rounded: number;
};

/** The exchange rounds balances to eight decimal places. */
const roundedPlaces = 8;

// A ledger that rounds does so in one bill of five. Less than one bill in a hundred is no habit.
export const roundingShareMin = 0.01;
export const roundingMin = 3;

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
  readonly decimals: number;
  readonly coverage: Coverage | undefined;
  /** From then on a late bill may still come, so that a balance that does not follow says nothing. */
  readonly reconciledThrough: number;
  /** One unit in the last place of the exchange's balances. */
  readonly tolerance: bigint;
  bills = 0;
  tested = 0;
  rounded = 0;
  /** The sum of the differences that were rounded. */
  rounding = 0n;
  /** The time of the first balance that does not follow and is not judged yet. */
  unjudgedFrom: number | undefined;
  /** The times of the last balances that follow and are judged. */
  readonly #checkpoints: number[] = [];
  /** The days that have bills, counted from the epoch. */
  readonly days = new Set<number>();
  readonly mismatches: Mismatch[] = [];
  readonly #bookedMaxMs: number;
  readonly #earlier: RoundedBills | undefined;
  readonly #held: HeldBills<ChainBill>;
  /** The bill with the last balance, and what was met since. */
  #base: ChainBill | undefined;
  #billsSince = 0;
  #moved = 0n;
  readonly #untestable = new Set<string>();
  #day = Number.NaN;
  #latest = Number.NEGATIVE_INFINITY;

  constructor({ wallet, coin, decimals, coverage, earlier }: ChainOptions) {
    this.wallet = wallet;
    this.coin = coin;
    this.decimals = decimals;
    this.coverage = coverage;
    this.reconciledThrough = coverage?.reconciledThrough ?? Number.POSITIVE_INFINITY;
    this.tolerance = 10n ** BigInt(decimals - roundedPlaces);
    this.#bookedMaxMs = bookedMaxMsOf(wallet);
    this.#earlier = earlier;
    const order = { tolerance: this.tolerance, bookedMaxMs: this.#bookedMaxMs };
    this.#held = new HeldBills(order, (released) => this.#checkBill(released));
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

  /** Whether the chain rounds, judged from all of its bills. */
  get doesRound(): boolean {
    const { tested, rounded } = this.#earlier ?? this;
    return rounded >= roundingMin && rounded >= tested * roundingShareMin;
  }

  #checkBill(released: Released<ChainBill>): void {
    const { bill } = released;
    const { type, after, time } = bill;
    this.bills++;
    const day = Math.floor(time / dayMs);
    if (day !== this.#day) {
      this.days.add(day);
      this.#day = day;
    }
    this.#billsSince++;
    this.#moved += bill.moved;
    if (!type.isTestable) this.#untestable.add(type.businessType);
    // A check that began with one of these would not read this bill, or not know which comes first.
    while ((this.#checkpoints.at(-1) ?? -1) >= time) this.#checkpoints.pop();
    const isNewer = time > this.#latest;
    if (isNewer) this.#latest = time;
    if (after === undefined) return;
    const base = this.#base;
    if (base !== undefined && this.#billsSince === 1) this.tested++;
    const compared = base === undefined ? begins(released) : this.#compare(base, released, after);
    // The next balance that is certain has what this one should have, too.
    if (compared === "vague") return;
    if (compared === "follows" && isNewer) this.#addCheckpoint(time);
    this.#base = bill;
    this.#billsSince = 0;
    this.#moved = 0n;
    this.#untestable.clear();
  }

  #addCheckpoint(time: number): void {
    // Bills may change places with bills this much older, and those with still older ones.
    if (time >= this.reconciledThrough - 2 * this.#bookedMaxMs) return;
    this.#checkpoints.push(time);
    if (this.#checkpoints.length > checkpointsMax) this.#checkpoints.shift();
  }

  #compare(
    base: ChainBill,
    { bill, isVague, neighbours }: Released<ChainBill>,
    after: bigint,
  ): "follows" | "vague" | "off" {
    const { tolerance, reconciledThrough } = this;
    const bills = this.#billsSince;
    const expected = (base.after ?? 0n) + this.#moved;
    const off = after - expected;
    const isSmall = !isFar(off, 0n, BigInt(bills) * tolerance);
    if (!isSmall && isVague) return "vague";
    if (bills === 1) {
      const isAlone =
        bill.time < reconciledThrough && (isSmall || this.#areAlone(base, bill, neighbours()));
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
    this.mismatches.push({ bill, base, expected, balance: after, off, bills, isSmall, untestable });
    return isSmall ? "follows" : "off";
  }

  /** Whether no third bill can have changed places with one of the two. */
  #areAlone(base: ChainBill, bill: ChainBill, neighbours: readonly ChainBill[]): boolean {
    const bookedMaxMs = this.#bookedMaxMs;
    const isBeside = ({ time }: ChainBill) =>
      Math.abs(base.time - time) <= bookedMaxMs || Math.abs(bill.time - time) <= bookedMaxMs;
    return neighbours.filter(isBeside).length === 2;
  }
}

/** Whether a balance is certainly wrong: one that is not judged yet, or only rounded, may be right. */
const isCertain = ({ bill, isSmall }: Mismatch, chain: Chain): boolean =>
  !(isSmall && chain.doesRound) && bill.time < chain.reconciledThrough;

/**
 * Whether a balance is wrong that is not a stored break. Only a check of all bills can tell whether it is a
 * new break, or shows another rule or a habit of rounding.
 */
export function hasNewMismatch(
  chains: readonly Chain[],
  stored: readonly Pick<Row, "ledger" | "coin" | "anchor" | "difference">[],
): boolean {
  const nameOf = (...parts: readonly (string | null)[]) => JSON.stringify(parts);
  const names = new Set(
    stored.map(({ ledger, coin, anchor, difference }) =>
      nameOf(ledger, coin, anchor, withoutZeros(difference ?? "")),
    ),
  );
  return chains.some((chain) =>
    chain.mismatches.some((mismatch) => {
      const difference = shortText({ units: mismatch.off, scale: chain.decimals });
      const anchor = anchorOf(chain.wallet, mismatch);
      return (
        isCertain(mismatch, chain) &&
        !names.has(nameOf(chain.wallet, chain.coin, anchor, difference))
      );
    }),
  );
}

/** What must be explained: a balance that is certainly wrong, of time when all product types of the wallet were read. */
const mustBeExplained = (mismatch: Mismatch, chain: Chain): boolean =>
  isCertain(mismatch, chain) &&
  mismatch.base.time >= (chain.coverage?.sharedFrom ?? Number.NEGATIVE_INFINITY);

/** The balances of a chain that neither bills nor a break explain. */
export const unexplainedOf = (chain: Chain): readonly Unexplained[] =>
  chain.mismatches
    .filter((mismatch) => mismatch.untestable.length > 0 && mustBeExplained(mismatch, chain))
    .map(({ bill, off, untestable }) => ({
      at: timeTextOf(bill.time),
      difference: shortText({ units: off, scale: chain.decimals }),
      types: untestable,
    }));

/** The breaks of a chain, with what the data can say about why. */
export function breaksOf(chain: Chain): readonly FoundBreak[] {
  const undoes = (earlier: Mismatch | undefined, later: Mismatch | undefined): boolean =>
    earlier !== undefined &&
    later !== undefined &&
    !earlier.isSmall &&
    !later.isSmall &&
    earlier.bill.billId === later.base.billId &&
    earlier.bill.productType === later.base.productType &&
    !isFar(earlier.off + later.off, 0n, BigInt(earlier.bills + later.bills) * chain.tolerance);
  return chain.mismatches.flatMap((mismatch, index) => {
    if (mismatch.untestable.length > 0 || !mustBeExplained(mismatch, chain)) return [];
    if (undoes(chain.mismatches[index - 1], mismatch)) return [];
    const isUndone = undoes(mismatch, chain.mismatches[index + 1]);
    return [breakOf(chain, mismatch, isUndone)];
  });
}

function breakOf(chain: Chain, mismatch: Mismatch, isUndone: boolean): FoundBreak {
  const { wallet, coin, coverage, decimals } = chain;
  const { bill, base } = mismatch;
  const text = (units: bigint) => shortText({ units, scale: decimals });
  const lateMs = bookedMaxMsOf(wallet);
  const between = {
    from: Math.min(base.time, bill.time) - lateMs,
    to: Math.max(base.time, bill.time),
  };
  const unread = unreadPart(coverage?.read ?? [], between.from, between.to);
  return {
    kind: unread === undefined ? "balance" : "unread",
    ledger: wallet,
    coin,
    anchor: anchorOf(wallet, mismatch),
    happenedAt: timeTextOf(bill.time),
    expected: text(mismatch.expected),
    observed: text(mismatch.balance),
    difference: text(mismatch.off),
    firstBadBill: bill.billId,
    firstBadProductType: bill.productType === wallet ? null : bill.productType,
    lastGoodBill: base.billId,
    lastGoodProductType: base.productType === wallet ? null : base.productType,
    explanation: explanationOf(mismatch, isUndone, unread, text),
  };
}

const timeTextOf = (ms: number): string => isoTime(epochMs(ms));

/** Two categories of a unified account may have the same id. */
const anchorOf = (wallet: string, { bill }: Mismatch): string =>
  bill.productType === wallet ? bill.billId : `${bill.productType}/${bill.billId}`;

/** What the data says about a balance that does not follow. */
function explanationOf(
  { isSmall, off }: Mismatch,
  isUndone: boolean,
  unread: ReturnType<typeof unreadPart>,
  text: (units: bigint) => string,
): string {
  if (unread !== undefined)
    return `not all time between the two bills was read: ${timeTextOf(unread.from)} to ${timeTextOf(unread.to)}`;
  if (isUndone) return "this bill's balance is wrong; the next one is right again";
  if (isSmall)
    return "a discrepancy of one unit in the last place; the other balances of this ledger are exact";
  return (
    `one of three: bills that add up to ${text(off)} are missing before this one; bills before it that add up ` +
    `to ${text(-off)} do not belong there; the amount, the fee or the balance of this one is wrong by as much`
  );
}
