import {
  add,
  type Decimal,
  isZero,
  magnitude,
  multiply,
  negate,
  subtract,
  zero,
} from "../../lib/decimal.ts";

/** Coins that were acquired on a day; below zero where a wallet owes them. */
export type Lot = { readonly day: string; readonly amount: Decimal; readonly price: Decimal };

/** The lots of one coin of one wallet, first in, first out, and what they cost and brought in a period. */
export class Lots {
  #lots: readonly Lot[] = [];
  /** What the lots cost when the period began. */
  openingCost = zero;
  /** What came in: at the price of its day, or from another wallet with its cost. */
  acquiredCost = zero;
  /** What went out and was spent: what it had cost, and what it was worth. */
  spentCost = zero;
  spentValue = zero;
  /** What went elsewhere, with its cost. */
  movedOutCost = zero;

  /** The oldest first. */
  get all(): readonly Lot[] {
    return this.#lots;
  }

  /** What all lots cost now. */
  get closingCost(): Decimal {
    return costOf(this.#lots);
  }

  /** The period begins: what was acquired and spent before is forgotten. */
  begin(): void {
    this.openingCost = this.closingCost;
    this.acquiredCost = this.spentCost = this.spentValue = this.movedOutCost = zero;
  }

  /** Coins come in, or go elsewhere. @returns the lots that go; what was not there costs the price of this lot. */
  move(lot: Lot): readonly Lot[] {
    const { closed, left } = this.#close(lot);
    this.movedOutCost = add(this.movedOutCost, costOf(closed));
    return isZero(left) ? closed : [...closed, { ...lot, amount: negate(left) }];
  }

  /** Coins are spent at the lot's price. */
  spend(lot: Lot): void {
    const { closed } = this.#close(lot);
    this.spentCost = add(this.spentCost, costOf(closed));
    const sold = closed.map((one) => ({ ...one, price: lot.price }));
    this.spentValue = add(this.spentValue, costOf(sold));
  }

  /** Closes the oldest lots of the other sign. What is left of the lot is acquired, or owed from its day on. */
  #close(lot: Lot): { readonly closed: readonly Lot[]; readonly left: Decimal } {
    const closed: Lot[] = [];
    let left = lot.amount;
    while (!isZero(left)) {
      const [first, ...others] = this.#lots;
      if (first === undefined || first.amount.units > 0n === left.units > 0n) break;
      const isWhole = subtract(magnitude(left), magnitude(first.amount)).units >= 0n;
      const taken = isWhole ? first.amount : negate(left);
      closed.push({ ...first, amount: taken });
      const rest = { ...first, amount: subtract(first.amount, taken) };
      this.#lots = isWhole ? others : [rest, ...others];
      left = add(left, taken);
    }
    if (!isZero(left)) this.#acquire({ ...lot, amount: left });
    return { closed, left };
  }

  /** A coin has one price a day: what was acquired on one day is one lot. */
  #acquire(lot: Lot): void {
    this.acquiredCost = add(this.acquiredCost, multiply(lot.amount, lot.price));
    const place = this.#lots.findLastIndex(({ day }) => day <= lot.day);
    const before = this.#lots[place];
    const isSameDay = before?.day === lot.day;
    const amount = isSameDay ? add(before.amount, lot.amount) : lot.amount;
    this.#lots = this.#lots.toSpliced(isSameDay ? place : place + 1, isSameDay ? 1 : 0, {
      ...lot,
      amount,
    });
  }
}

const costOf = (lots: readonly Lot[]): Decimal =>
  lots.reduce((sum, { amount, price }) => add(sum, multiply(amount, price)), zero);
