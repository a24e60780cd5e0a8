import { sql } from "drizzle-orm";
import { dayMs, type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import {
  add,
  type Decimal,
  decimalOf,
  decimalText,
  isZero,
  multiply,
  subtract,
  zero,
} from "../export/decimal.ts";
import type { BillPages, ExportedBill } from "../export/exported-bill.ts";
import { feeMovementOf, type Movement, movementOf } from "../export/movements.ts";
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
  readonly #dayOf: DayOf;
  readonly #seen = new Map<string, Decimal | undefined>();

  constructor(prices: Prices, dayOf: DayOf) {
    this.prices = prices;
    this.#dayOf = dayOf;
  }

  /** The price of a coin at a time. Each is looked up once a day: bills come by the thousand. */
  priceAt(coin: string, time: EpochMs): Decimal | undefined {
    const day = this.#dayOf(time);
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
    for (const [text, nameOf] of [
      [walletAmount, (isGain: boolean) => movementOf(category, isGain)],
      [walletFee, feeMovementOf],
    ] as const) {
      const amount = decimalOf(text);
      if (isZero(amount)) continue;
      const name = nameOf(amount.units > 0n);
      const sum = this.#valued(coin, amount, cTime);
      for (const { moved } of all) moved.set(name, plus(moved.get(name) ?? nothing, sum));
    }
  }
}

const ofChain = ["rounding", "difference", "unsettled", "closed_out"] as const;
type Chain = Readonly<Record<(typeof ofChain)[number], string>> & {
  readonly coin: string;
  readonly opening: string | null;
};

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
    for (const name of ofChain) all.set(name, valued(coin, decimalOf(chain[name]), last));
    const opening = chain.opening === null ? null : decimalOf(chain.opening);
    const closing = opening && [...all.values()].map(({ amount }) => amount).reduce(add, opening);
    return {
      ...{ coin, bills, moved: all, contracts },
      opening: opening && valued(coin, opening, before),
      closing: closing && valued(coin, closing, last),
    };
  });
}

/** The balances at the span's start, and what its balances differ by from its bills. */
export async function readChains(
  tx: Transaction,
  { account, productType, productTypes, closedAt }: ReportedWallet,
  { from, to }: Interval,
): Promise<readonly Chain[]> {
  if (closedAt !== undefined && closedAt < from) return [];
  const dayOf = (time: number) => isoTime(epochMs(time)).slice(0, 10);
  const days = [dayOf(from), dayOf(to - 1)] as const;
  const { rows } = await tx.execute<Chain>(sql`
    select
      coin,
      (array_agg(opening order by day))[1]::text as opening,
      sum(rounding)::text as rounding,
      coalesce(sum(difference - unsettled), 0)::text as difference,
      coalesce(sum(unsettled), 0)::text as unsettled,
      ${closedAt === undefined ? sql`'0'` : sql`sum(closed_out)::text`} as closed_out
    from analytics.daily_rollforward
    where account = ${account}
      and product_type = ${productType}
      and day between ${days[0]}::date and ${days[1]}::date
    group by coin
    order by coin`);
  if (from % dayMs === 0 && to % dayMs === 0) return rows;
  // A zone's month begins and ends within UTC days: what is outside of it is taken off again.
  const isBefore = sql`c_time < ${isoTime(from)}::timestamptz`;
  const { rows: edges } = await tx.execute<Omit<Chain, "opening" | "closed_out"> & Edge>(sql`
    select
      coin,
      coalesce(sum(net + rounding + coalesce(difference, 0)) filter (where ${isBefore}), 0)::text as before,
      sum(rounding)::text as rounding,
      coalesce(sum(difference) filter (where is_settled), 0)::text as difference,
      coalesce(sum(difference) filter (where not is_settled), 0)::text as unsettled
    from analytics.activity
    where account = ${account}
      and product_type = any(${textArray(productTypes)}::text[])
      and day = any(${textArray(days)}::date[])
      and (${isBefore} or c_time >= ${isoTime(to)}::timestamptz)
    group by coin`);
  return rows.map((chain) => {
    const edge = edges.find(({ coin }) => coin === chain.coin);
    if (edge === undefined) return chain;
    const less = (name: "rounding" | "difference" | "unsettled") =>
      decimalText(subtract(decimalOf(chain[name]), decimalOf(edge[name])));
    return {
      ...chain,
      opening: chain.opening && decimalText(add(decimalOf(chain.opening), decimalOf(edge.before))),
      ...{ rounding: less("rounding"), difference: less("difference") },
      unsettled: less("unsettled"),
    };
  });
}

type Edge = { readonly before: string };
