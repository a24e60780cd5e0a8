import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { type Movement, movementOf } from "../db/sql/movements.ts";
import { chainParts, readChains } from "../export/chains.ts";
import { add, type Decimal, decimalOf, isZero, multiply, zero } from "../export/decimal.ts";
import type { BillPages, ExportedBill } from "../export/exported-bill.ts";
import type { Prices } from "../export/prices.ts";
import type { ReportedWallet } from "../export/reported-wallets.ts";
import type { DayOf } from "../export/time-zone.ts";
import type { Interval } from "../sync/intervals.ts";

/** An amount, and what it was worth in the chosen currency; undefined where no price says. */
export type Sum = { readonly amount: Decimal; readonly value: Decimal | undefined };
export type Moved = ReadonlyMap<Movement, Sum>;

/** What bills of one coin, or of one of its contracts, moved. */
export type Tally = { readonly bills: number; readonly moved: Moved };

/** One coin of a wallet, from the period's start to its end. The opening is null where no bill shows a balance. */
export type CoinFigures = Tally & {
  readonly coin: string;
  readonly opening: Sum | null;
  readonly closing: Sum | null;
  /** By contract; empty for bills that name none. */
  readonly contracts: ReadonlyMap<string, Tally>;
};

const nothing: Sum = { amount: zero, value: zero };

export const plus = (left: Sum, right: Sum): Sum => ({
  amount: add(left.amount, right.amount),
  value: left.value && right.value && add(left.value, right.value),
});

export const sumOf = (moved: Moved, columns: readonly string[]): Sum =>
  [...moved].reduce((sum, [name, one]) => (columns.includes(name) ? plus(sum, one) : sum), nothing);

/** Values amounts by the newest price of their day or before, and collects what has none. */
export class Valuation {
  readonly prices: Prices;
  /** The first day of each coin without a price. */
  readonly missing = new Map<string, string>();
  readonly dayOf: DayOf;
  readonly #seen = new Map<string, Decimal | undefined>();

  constructor(prices: Prices, dayOf: DayOf) {
    this.prices = prices;
    this.dayOf = dayOf;
  }

  /** The price of a coin at a time. Each is looked up once a day: bills come by the thousand. */
  priceAt(coin: string, time: EpochMs): Decimal | undefined {
    const day = this.dayOf(time);
    const key = `${day} ${coin}`;
    if (!this.#seen.has(key)) {
      const price = this.prices.of(coin, day)?.price;
      if (price === undefined && day < (this.missing.get(coin) ?? "9999"))
        this.missing.set(coin, day);
      this.#seen.set(key, price === undefined ? undefined : decimalOf(price));
    }
    return this.#seen.get(key);
  }

  valued(coin: string, amount: Decimal, time: EpochMs): Sum {
    if (isZero(amount)) return nothing;
    const price = this.priceAt(coin, time);
    return { amount, value: price && multiply(amount, price) };
  }
}

const valuedBy =
  (valuation: Valuation | undefined) =>
  (coin: string, amount: Decimal, time: EpochMs): Sum =>
    valuation?.valued(coin, amount, time) ?? { amount, value: undefined };

type Sums = { bills: number; moved: Map<Movement, Sum> };
const noSums = (): Sums => ({ bills: 0, moved: new Map() });

/** Sums up what bills moved, while they are read for something else. */
export class Tallies {
  readonly byCoin = new Map<string, Sums & { readonly contracts: Map<string, Sums> }>();
  readonly #valued: ReturnType<typeof valuedBy>;

  constructor(valuation: Valuation | undefined) {
    this.#valued = valuedBy(valuation);
  }

  async *counting(pages: BillPages): BillPages {
    for await (const bills of pages) {
      for (const bill of bills) this.#count(bill);
      yield bills;
    }
  }

  #count({ coin, symbol, category, walletAmount, walletFee, cTime }: ExportedBill): void {
    const ofCoin = this.byCoin.get(coin) ?? { ...noSums(), contracts: new Map<string, Sums>() };
    this.byCoin.set(coin, ofCoin);
    const ofContract = ofCoin.contracts.get(symbol ?? "") ?? noSums();
    ofCoin.contracts.set(symbol ?? "", ofContract);
    const all = [ofCoin, ofContract];
    for (const sums of all) sums.bills += 1;
    for (const [text, of] of [
      [walletAmount, category],
      [walletFee, "every fee"],
    ] as const) {
      const amount = decimalOf(text);
      if (isZero(amount)) continue;
      const name = movementOf(of, amount.units > 0n ? "in" : "out");
      const sum = this.#valued(coin, amount, cTime);
      for (const { moved } of all) moved.set(name, plus(moved.get(name) ?? nothing, sum));
    }
  }
}

/**
 * The figures of a wallet's coins: what the tallies counted from the span's start to its end, between the balances that
 * analytics.daily_rollforward has of its UTC days.
 */
export async function readFigures(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
  {
    tallies: { byCoin },
    valuation,
  }: { readonly tallies: Tallies; readonly valuation: Valuation | undefined },
): Promise<readonly CoinFigures[]> {
  const valued = valuedBy(valuation);
  const chains = await readChains(tx, wallet, span);
  return chains.map((chain) => {
    const { coin } = chain;
    const { bills, moved, contracts } = byCoin.get(coin) ?? { ...noSums(), contracts: new Map() };
    const before = epochMs(span.from - 1);
    const last = epochMs(span.to - 1);
    const all = new Map<Movement, Sum>(moved);
    for (const name of chainParts) all.set(name, valued(coin, decimalOf(chain[name]), last));
    const opening = chain.opening === null ? null : decimalOf(chain.opening);
    const closing = opening && [...all.values()].map(({ amount }) => amount).reduce(add, opening);
    return {
      ...{ coin, bills, moved: all, contracts },
      opening: opening && valued(coin, opening, before),
      closing: closing && valued(coin, closing, last),
    };
  });
}
