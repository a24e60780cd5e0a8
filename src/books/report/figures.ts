import { sql } from "drizzle-orm";
import type { Transaction } from "../../core/postgres/connect.ts";
import {
  type BillMovement,
  billMovements,
  type Movement,
  movementPlaceholders,
} from "../../core/views/movements.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { add, type Decimal, decimalOf, isZero, zero } from "../../lib/decimal.ts";
import { chainParts, readChains } from "../export/chains.ts";
import { isBillOf, isWithin, type ReportedWallet } from "../export/reported-wallets.ts";

export type Moved = ReadonlyMap<Movement, Decimal>;

/** The sums of the bills of one coin, or of one of its contracts. */
export type Tally = { readonly bills: number; readonly moved: Moved };

/** One coin of a wallet, from the period's start to its end. The opening is null where no bill shows a balance. */
export type CoinFigures = Tally & {
  readonly coin: string;
  readonly opening: Decimal | null;
  readonly closing: Decimal | null;
  /** By contract; empty for bills that name none. */
  readonly contracts: ReadonlyMap<string, Tally>;
};

export const sumOf = (moved: Moved, columns: readonly string[]): Decimal =>
  [...moved].reduce((sum, [name, one]) => (columns.includes(name) ? add(sum, one) : sum), zero);

type MovedRow = Readonly<Record<BillMovement, string>> & {
  readonly coin: string;
  readonly symbol: string;
  readonly bills: number;
};

/** What bills moved by coin and contract, as the views sum it up. */
async function readMoved(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
): Promise<readonly MovedRow[]> {
  const { rows } = await tx.execute<MovedRow>(sql`
    select
      coin,
      coalesce(symbol, '') as symbol,
      count(*)::int as bills,
      ${movementPlaceholders.movement_sums}
    from (
      select
        coin,
        symbol,
        category,
        greatest(wallet_amount, 0) as amount_in,
        least(wallet_amount, 0) as amount_out,
        greatest(wallet_fee, 0) as fee_in,
        least(wallet_fee, 0) as fee_out
      from analytics.entries
      where ${isBillOf(wallet)}
        and ${isWithin(sql`c_time`, span)}
    ) as bills
    group by 1, 2`);
  return rows;
}

const tallyOf = (rows: readonly MovedRow[]): Tally => ({
  bills: rows.reduce((sum, row) => sum + row.bills, 0),
  moved: new Map(
    billMovements.map((name) => [name, rows.map((row) => decimalOf(row[name])).reduce(add, zero)]),
  ),
});

/**
 * The figures of a wallet's coins: what bills moved from the span's start to its end, between the balances that
 * analytics.daily_rollforward has of its UTC days.
 */
export async function readFigures(
  tx: Transaction,
  wallet: ReportedWallet,
  span: Interval,
): Promise<readonly CoinFigures[]> {
  const byCoin = Map.groupBy(await readMoved(tx, wallet, span), ({ coin }) => coin);
  return (await readChains(tx, wallet, span)).flatMap((chain) => {
    const { coin } = chain;
    const rows = byCoin.get(coin) ?? [];
    const { bills, moved } = tallyOf(rows);
    const ofChain = chainParts.map((name) => [name, decimalOf(chain[name])] as const);
    const all: Moved = new Map<Movement, Decimal>([...moved, ...ofChain]);
    const opening = chain.opening === null ? null : decimalOf(chain.opening);
    const closing = opening && [...all.values()].reduce(add, opening);
    const isNothing = [opening, closing].every((sum) => sum !== null && isZero(sum));
    if (bills === 0 && isNothing) return [];
    const contracts = rows.map((row) => [row.symbol, tallyOf([row])] as const);
    return { coin, bills, moved: all, opening, closing, contracts: new Map(contracts) };
  });
}
