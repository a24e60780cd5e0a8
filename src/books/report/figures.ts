import { sql } from "drizzle-orm";
import type { Transaction } from "../../core/postgres/connect.ts";
import { textArray } from "../../core/postgres/values.ts";
import {
  type BillMovement,
  billMovements,
  type Movement,
  movementPlaceholders,
} from "../../core/views/movements.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { add, type Decimal, decimalOf, isZero, multiply, zero } from "../../lib/decimal.ts";
import { type EpochMs, epochMs, isoTime } from "../../lib/time.ts";
import { chainParts, readChains } from "../export/chains.ts";
import type { Prices } from "../export/prices.ts";
import { isBillOf, isWithin, type ReportedWallet } from "../export/reported-wallets.ts";
import { type DayOf, dayStarts } from "../export/time-zone.ts";

/** An amount, and what it was worth in the chosen currency; undefined where no price says. */
export type Sum = { readonly amount: Decimal; readonly value: Decimal | undefined };
export type Moved = ReadonlyMap<Movement, Sum>;

/** The sums of the bills of one coin, or of one of its contracts. */
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

  /** The price of a coin at a time. Each is looked up once a day. */
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

type MovedRow = Readonly<Record<BillMovement, string>> & {
  readonly coin: string;
  readonly symbol: string;
  /** The place of its day in the span, from 1. */
  readonly day: number;
  readonly bills: number;
};

/** What bills moved by coin, contract and day, as the views sum it up. @param starts of the days, which have prices. */
async function readMoved(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
  starts: readonly EpochMs[],
): Promise<readonly MovedRow[]> {
  const { rows } = await tx.execute<MovedRow>(sql`
    select
      coin,
      coalesce(symbol, '') as symbol,
      width_bucket(c_time, ${textArray(starts.map(isoTime))}::timestamptz[]) as day,
      count(*)::int as bills,
      ${movementPlaceholders.movement_sums}
    from (
      select
        coin,
        symbol,
        c_time,
        category,
        greatest(wallet_amount, 0) as amount_in,
        least(wallet_amount, 0) as amount_out,
        greatest(wallet_fee, 0) as fee_in,
        least(wallet_fee, 0) as fee_out
      from analytics.entries
      where ${isBillOf(wallet)}
        and ${isWithin(sql`c_time`, span)}
    ) as bills
    group by 1, 2, 3`);
  return rows;
}

/**
 * The figures of a wallet's coins: what bills moved from the span's start to its end, between the balances that
 * analytics.daily_rollforward has of its UTC days.
 */
export async function readFigures(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
  { zone, valuation }: { readonly zone: string; readonly valuation: Valuation | undefined },
): Promise<readonly CoinFigures[]> {
  const valued = (coin: string, amount: Decimal, time: EpochMs): Sum =>
    valuation?.valued(coin, amount, time) ?? { amount, value: undefined };
  const starts = valuation === undefined ? [span.from] : dayStarts(span, zone);
  const tallyOf = (rows: readonly MovedRow[]): Tally => {
    const sumOfRows = (name: BillMovement) =>
      rows
        .map((row) => valued(row.coin, decimalOf(row[name]), starts[row.day - 1] ?? span.from))
        .reduce(plus, nothing);
    return {
      bills: rows.reduce((sum, row) => sum + row.bills, 0),
      moved: new Map(billMovements.map((name) => [name, sumOfRows(name)])),
    };
  };
  const byCoin = Map.groupBy(await readMoved(tx, wallet, span, starts), ({ coin }) => coin);
  const before = epochMs(span.from - 1);
  const last = epochMs(span.to - 1);
  return (await readChains(tx, wallet, span)).flatMap((chain) => {
    const { coin } = chain;
    const rows = byCoin.get(coin) ?? [];
    const { bills, moved } = tallyOf(rows);
    const ofChain = chainParts.map(
      (name) => [name, valued(coin, decimalOf(chain[name]), last)] as const,
    );
    const all: Moved = new Map<Movement, Sum>([...moved, ...ofChain]);
    const opening = chain.opening === null ? null : decimalOf(chain.opening);
    const closing = opening && [...all.values()].map(({ amount }) => amount).reduce(add, opening);
    const isNothing = [opening, closing].every((sum) => sum !== null && isZero(sum));
    if (bills === 0 && isNothing) return [];
    const bySymbol = [...Map.groupBy(rows, ({ symbol }) => symbol)];
    return {
      ...{ coin, bills, moved: all },
      contracts: new Map(bySymbol.map(([symbol, some]) => [symbol, tallyOf(some)])),
      opening: opening && valued(coin, opening, before),
      closing: closing && valued(coin, closing, last),
    };
  });
}
