import { epochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { readChains } from "../export/chains.ts";
import {
  add,
  type Decimal,
  decimalOf,
  isZero,
  magnitude,
  multiply,
  negate,
  subtract,
  zero,
} from "../export/decimal.ts";
import { balanceChange, type ExportedBill } from "../export/exported-bill.ts";
import { readBills } from "../export/read-bills.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import { isDollarCoin } from "../page/format.ts";
import type { Interval } from "../sync/intervals.ts";
import type { Valuation } from "./figures.ts";

// Cost basis by first in, first out. Not a view: prices are a file, and what a coin cost depends on every movement
// since its first bill.

/** Coins that came in on a day; below zero where a wallet owes them. */
export type Lot = { readonly day: string; readonly amount: Decimal; readonly price: Decimal };

/** What lots cost and brought in a period, in the currency. */
export type CostBasis = {
  readonly coin: string;
  readonly opening: Decimal;
  /** What came in, at the price of its day. */
  readonly acquired: Decimal;
  /** What went out and was spent: what it had cost, and what it was worth. */
  readonly cost: Decimal;
  readonly proceeds: Decimal;
  /** What went elsewhere, with its cost. */
  readonly movedOut: Decimal;
  readonly closing: Decimal;
  /** What the last lots are worth at the period's end. */
  readonly worth: Decimal;
  readonly lots: readonly Lot[];
};

/** The lots of one coin of one wallet, in the order of its movements. */
export class Lots {
  #lots: Lot[] = [];
  acquired = zero;
  cost = zero;
  proceeds = zero;
  movedOut = zero;

  get all(): readonly Lot[] {
    return this.#lots;
  }

  /** What all lots cost. */
  get held(): Decimal {
    return this.#lots.reduce((sum, { amount, price }) => add(sum, multiply(amount, price)), zero);
  }

  /** Forgets what was acquired and spent before the period. */
  begin(): void {
    this.acquired = this.cost = this.proceeds = this.movedOut = zero;
  }

  /** @param isSpent whether what goes out is spent: else it is held elsewhere, and takes its cost along. */
  move(day: string, amount: Decimal, price: Decimal, isSpent: boolean): void {
    let left = amount;
    while (!isZero(left)) {
      const [first] = this.#lots;
      if (first === undefined || first.amount.units > 0n === left.units > 0n) {
        this.#acquire({ day, amount: left, price });
        return;
      }
      const isWhole = subtract(magnitude(left), magnitude(first.amount)).units >= 0n;
      const taken = isWhole ? first.amount : negate(left);
      const rest = { ...first, amount: subtract(first.amount, taken) };
      this.#lots = [...(isWhole ? [] : [rest]), ...this.#lots.slice(1)];
      const cost = multiply(taken, first.price);
      if (isSpent) {
        this.cost = add(this.cost, cost);
        this.proceeds = add(this.proceeds, multiply(taken, price));
      } else this.movedOut = add(this.movedOut, cost);
      left = add(left, taken);
    }
  }

  #acquire(lot: Lot): void {
    this.acquired = add(this.acquired, multiply(lot.amount, lot.price));
    const last = this.#lots.at(-1);
    // What came in on one day has one price: it is one lot.
    if (last?.day === lot.day)
      this.#lots[this.#lots.length - 1] = { ...last, amount: add(last.amount, lot.amount) };
    else this.#lots.push(lot);
  }
}

/**
 * What goes to another wallet, is lent back or is margin is not spent. What comes from one is worth the price of its day:
 * with both legs of a transfer at hand, it could keep its cost.
 */
const elsewhere: readonly ExportedBill["category"][] = [
  ...["transfer", "deposit", "withdrawal", "margin", "loan"],
] as const;

/** The cost basis of each coin that has a price and is no dollar, from the wallet's first bill to the period's end. */
export async function readCostBasis(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
  valuation: Valuation,
): Promise<readonly CostBasis[]> {
  const chains = await readChains(tx, wallet, { from: epochMs(0), to: span.to });
  const { currency } = valuation.prices;
  const openings = new Map(
    chains
      .filter(({ coin }) => !isDollarCoin(coin) && coin !== currency)
      .flatMap(({ coin, opening }) => (opening === null ? [] : [[coin, decimalOf(opening)]])),
  );
  const books = new Map<string, { lots: Lots; balance: Decimal; opening: Decimal | undefined }>();
  const { account, productTypes } = wallet;
  const selection = { accounts: [account], productTypes, coins: [...openings.keys()], to: span.to };
  const pages = openings.size === 0 ? [] : readBills(tx, selection);
  for await (const bills of pages)
    for (const bill of bills) {
      const { coin, cTime, category } = bill;
      const price = valuation.priceAt(coin, cTime);
      if (price === undefined) {
        openings.delete(coin);
        books.delete(coin);
      }
      const start = openings.get(coin);
      if (start === undefined || price === undefined) continue;
      const day = valuation.dayOf(cTime);
      const book = books.get(coin) ?? { lots: new Lots(), balance: zero, opening: undefined };
      const move = (amount: Decimal, isSpent: boolean) => {
        book.lots.move(day, amount, price, isSpent);
        book.balance = add(book.balance, amount);
      };
      if (!books.has(coin)) move(start, false);
      books.set(coin, book);
      if (cTime >= span.from && book.opening === undefined) open(book);
      move(balanceChange(bill), !elsewhere.includes(category));
      // What no bill explains is neither earned nor spent.
      if (bill.balance !== null) move(subtract(decimalOf(bill.balance), book.balance), false);
    }
  return [...books].flatMap(([coin, book]) => {
    const price = valuation.priceAt(coin, epochMs(span.to - 1));
    if (price === undefined) return [];
    const { lots } = book;
    if (book.opening === undefined) open(book);
    const { acquired, cost, proceeds, movedOut, held, all } = lots;
    return {
      ...{ coin, opening: book.opening ?? zero, acquired, cost, proceeds, movedOut },
      ...{ closing: held, worth: multiply(book.balance, price), lots: all },
    };
  });
}

function open(book: { readonly lots: Lots; opening: Decimal | undefined }): void {
  book.opening = book.lots.held;
  book.lots.begin();
}
