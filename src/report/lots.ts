import { type ProductType, walletOf } from "../contract/product-types.ts";
import { type EpochMs, epochMs } from "../contract/time.ts";
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
import { readBillsByTime } from "../export/read-bills.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import { isDollarCoin } from "../page/format.ts";
import type { Interval } from "../sync/intervals.ts";
import type { Valuation } from "./figures.ts";
import type { CostBasis, Leg, Lot } from "./month-report.ts";

// Cost basis by first in, first out. Not a view: prices are a file, and what a coin cost depends on every movement
// since its first bill, also in the wallets that it came from.

/** The lots of one coin of one wallet, the oldest first. */
export class Lots {
  #lots: readonly Lot[] = [];
  acquired = zero;
  cost = zero;
  proceeds = zero;
  movedOut = zero;

  get all(): readonly Lot[] {
    return this.#lots;
  }

  /** The cost of all lots. */
  get held(): Decimal {
    return costOf(this.#lots);
  }

  /** Forgets what was acquired and spent before the period. */
  begin(): void {
    this.acquired = this.cost = this.proceeds = this.movedOut = zero;
  }

  /** Lots come in, or close what the wallet owes. */
  put(lots: readonly Lot[]): void {
    for (const lot of lots) {
      const { closed, left } = this.#close(lot.amount);
      this.movedOut = add(this.movedOut, costOf(closed));
      if (!isZero(left)) this.#acquire({ ...lot, amount: left });
    }
  }

  /** Coins go out at a price, and are spent. What was not there is owed from that day on. */
  spend({ amount, ...at }: Lot): void {
    const { closed, left } = this.#close(negate(amount));
    this.cost = add(this.cost, costOf(closed));
    this.proceeds = add(this.proceeds, costOf(closed.map((lot) => ({ ...lot, price: at.price }))));
    if (!isZero(left)) this.#acquire({ ...at, amount: left });
  }

  /** Coins go elsewhere. @returns their lots; what was not there is owed, and costs the price of that day. */
  take({ amount, ...at }: Lot): readonly Lot[] {
    const { closed, left } = this.#close(negate(amount));
    this.movedOut = add(this.movedOut, costOf(closed));
    if (isZero(left)) return closed;
    this.#acquire({ ...at, amount: left });
    return [...closed, { ...at, amount: negate(left) }];
  }

  /** Closes the oldest lots of the other sign. @returns them, and what is left of the amount. */
  #close(amount: Decimal): { readonly closed: readonly Lot[]; readonly left: Decimal } {
    const closed: Lot[] = [];
    let left = amount;
    while (!isZero(left)) {
      const [first, ...others] = this.#lots;
      if (first === undefined || first.amount.units > 0n === left.units > 0n) break;
      const isWhole = subtract(magnitude(left), magnitude(first.amount)).units >= 0n;
      const taken = isWhole ? first.amount : negate(left);
      closed.push({ ...first, amount: taken });
      this.#lots = isWhole
        ? others
        : [{ ...first, amount: subtract(first.amount, taken) }, ...others];
      left = add(left, taken);
    }
    return { closed, left };
  }

  /** A coin has one price a day: what was acquired on one day is one lot. */
  #acquire(lot: Lot): void {
    this.acquired = add(this.acquired, multiply(lot.amount, lot.price));
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

/** What goes elsewhere, is lent back or is margin is not spent. */
const elsewhere: readonly ExportedBill["category"][] = [
  ...["transfer", "deposit", "withdrawal", "margin", "loan"],
] as const;

type Book = {
  readonly wallet: ReportedWallet;
  readonly coin: string;
  readonly lots: Lots;
  balance: Decimal;
  /** What the lots cost at the period's start; undefined before it. */
  opening: Decimal | undefined;
};

/** A transfer between two wallets of the report. Its lots leave with its first leg, and arrive with the one that receives. */
type Transit = {
  readonly sender: string;
  readonly amount: Decimal;
  lots: readonly Lot[] | undefined;
};

const keyOf = (...names: readonly string[]): string => JSON.stringify(names);
const walletKey = (account: string, productType: string): string =>
  keyOf(account, walletOf(productType as ProductType));

/**
 * The cost basis of each coin that has a price and is no dollar, from the first bill to the period's end.
 * @param legs of the transfers from the first bill on.
 * @returns what there is of a wallet.
 */
export async function readCostBasis(
  tx: Transaction,
  wallets: readonly ReportedWallet[],
  span: Interval,
  { valuation, legs }: { readonly valuation: Valuation; readonly legs: readonly Leg[] },
): Promise<(wallet: ReportedWallet) => readonly CostBasis[]> {
  const holdings = await readHoldings(tx, wallets, span, valuation.prices.currency);
  const transits = transitsOf(legs, wallets);
  const books = new Map<string, Book>();
  const unpriced = new Set<string>();
  const begin = (book: Book): void => {
    if (book.opening !== undefined) return;
    book.opening = book.lots.held;
    book.lots.begin();
  };
  /** Opened with the first bill that moves it: what was there before costs the price of that day. */
  const bookAt = (wallet: string, coin: string, time: EpochMs, price: Decimal) => {
    const key = keyOf(wallet, coin);
    const holding = holdings.get(key);
    if (holding === undefined) return undefined;
    let book = books.get(key);
    if (book === undefined) {
      const { amount, ...of } = holding;
      book = { ...of, lots: new Lots(), balance: zero, opening: undefined };
      books.set(key, book);
      moveElsewhere(book, { day: valuation.dayOf(time), amount, price });
    }
    if (time >= span.from) begin(book);
    return book;
  };
  const coins = [...new Set([...holdings.values()].map(({ coin }) => coin))];
  const selection = {
    accounts: wallets.map(({ account }) => account),
    productTypes: wallets.flatMap(({ productTypes }) => productTypes),
    ...{ coins, to: span.to },
  };
  const pages = coins.length === 0 ? [] : readBillsByTime(tx, selection);
  for await (const bills of pages)
    for (const bill of bills) {
      const { account, productType, billId, coin, cTime, category } = bill;
      const price = valuation.priceAt(coin, cTime);
      if (price === undefined) unpriced.add(coin);
      if (price === undefined || unpriced.has(coin)) continue;
      const book = bookAt(walletKey(account, productType), coin, cTime, price);
      if (book === undefined) continue;
      const move = (amount: Decimal) => ({ day: valuation.dayOf(cTime), amount, price });
      const amount = balanceChange(bill);
      const transit = transits.get(keyOf(account, productType, billId));
      if (transit !== undefined) {
        const sender = bookAt(transit.sender, coin, cTime, price);
        transit.lots ??= sender?.lots.take(move(transit.amount));
        if (amount.units > 0n) book.lots.put(transit.lots ?? []);
        // Its fee stays with the exchange.
        book.lots.spend(move(negate(decimalOf(bill.walletFee))));
        book.balance = add(book.balance, amount);
      } else if (amount.units < 0n && !elsewhere.includes(category)) {
        book.lots.spend(move(negate(amount)));
        book.balance = add(book.balance, amount);
      } else moveElsewhere(book, move(amount));
      // What no bill explains is neither earned nor spent.
      if (bill.balance !== null)
        moveElsewhere(book, move(subtract(decimalOf(bill.balance), book.balance)));
    }
  return ({ account, productType }) =>
    [...books.values()].flatMap((book) => {
      const { wallet, coin, lots, balance } = book;
      const price = valuation.priceAt(coin, epochMs(span.to - 1));
      const isOther = wallet.account !== account || wallet.productType !== productType;
      if (isOther || price === undefined || unpriced.has(coin)) return [];
      begin(book);
      const { acquired, cost, proceeds, movedOut, held, all } = lots;
      return {
        ...{ coin, opening: book.opening ?? zero, acquired, cost, proceeds, movedOut },
        ...{ closing: held, worth: multiply(balance, price), lots: all },
      };
    });
}

/** What comes in costs the price of its day; what goes out takes its cost along. */
function moveElsewhere(book: Book, { amount, ...at }: Lot): void {
  if (amount.units > 0n) book.lots.put([{ ...at, amount }]);
  else book.lots.take({ ...at, amount: negate(amount) });
  book.balance = add(book.balance, amount);
}

type Holding = Pick<Book, "wallet" | "coin"> & { readonly amount: Decimal };

/** What each wallet held of each coin before its first bill. Coins of which no bill shows a balance are left out. */
async function readHoldings(
  tx: Transaction,
  wallets: readonly ReportedWallet[],
  { to }: Interval,
  currency: string,
): Promise<ReadonlyMap<string, Holding>> {
  const holdings = new Map<string, Holding>();
  for (const wallet of wallets)
    for (const { coin, opening } of await readChains(tx, wallet, { from: epochMs(0), to }))
      if (opening !== null && !isDollarCoin(coin) && coin !== currency)
        holdings.set(keyOf(walletKey(wallet.account, wallet.productType), coin), {
          ...{ wallet, coin, amount: decimalOf(opening) },
        });
  return holdings;
}

/** The transfers between the wallets, by each of their legs. */
function transitsOf(
  legs: readonly Leg[],
  wallets: readonly ReportedWallet[],
): ReadonlyMap<string, Transit> {
  const names = new Set(wallets.map(({ account, productType }) => walletKey(account, productType)));
  const transits = new Map<string, Transit>();
  for (const leg of legs) {
    const { account, productType, billId, otherAccount, otherProductType, otherBillId } = leg;
    if (otherAccount === null || otherProductType === null || otherBillId === null) continue;
    const here = walletKey(account, productType);
    const there = walletKey(otherAccount, otherProductType);
    if (!names.has(here) || !names.has(there)) continue;
    const amount = decimalOf(leg.amount);
    const sender = amount.units < 0n ? here : there;
    const transit = transits.get(keyOf(otherAccount, otherProductType, otherBillId));
    transits.set(
      keyOf(account, productType, billId),
      transit ?? { sender, amount: magnitude(amount), lots: undefined },
    );
  }
  return transits;
}
