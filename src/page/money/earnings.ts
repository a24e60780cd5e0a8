import { sql } from "drizzle-orm";
import { isoTime } from "../../contract/time.ts";
import { textArray } from "../../db/sql/array-literal.ts";
import { productTypesOf } from "../../db/sql/wallet.ts";
import { decimalOf, decimalText, subtract } from "../../export/decimal.ts";
import { onceFor } from "../once.ts";
import type { WalletContext } from "../section.ts";
import { hasFee, isFeeRow, isOwnResult, type PartName } from "./contract-parts.ts";
import { lineOf, otherResults, resultLines } from "./lines.ts";
import type { Off } from "./parts.ts";
import { isZero, sumOf } from "./stretches.ts";
import { unreadIn, walletReadings } from "./unread-wallets.ts";

/** What was earned and paid in the selected days. Decimals are text. */
export type Earned = {
  /** Empty for bills that name no contract, and for a sum over contracts. */
  readonly symbol: string;
  readonly figures: Readonly<Record<PartName, string>>;
  /** How many bills the figures count, each bill once. */
  readonly bills: number;
};

/** The earnings of one coin of a wallet. */
export type CoinEarnings = {
  readonly product: string;
  readonly coin: string;
  /** Ordered by the size of the result, largest first, whatever its sign. */
  readonly contracts: readonly Earned[];
  /**
   * The difference between the balance's movement and these bills' sum. Nearly always zero.
   * Exceptions are fees that coupons pay, and amounts that are not taken from the balance.
   */
  readonly movedOtherwise: string;
  /** The result by the wallet's days: the contracts' sum plus what moved otherwise. */
  readonly result: string;
  /** The number of selected days before today that were not read completely. */
  readonly unreadDays: number;
  /** What bills of unmapped types moved, which is in no result. */
  readonly unmapped: string;
  /** How far the coin's balances do not follow from its bills. */
  readonly off: Off;
};

/**
 * The earnings of all coins of the selected account, ordered by product and coin, whatever the days. They
 * are queried once for each context.
 */
export const readEarnings = onceFor(readCoins);

type Place = { readonly product: string; readonly coin: string };

const keyOf = ({ product, coin }: Place): string => JSON.stringify([product, coin]);

async function readCoins(context: WalletContext): Promise<readonly CoinEarnings[]> {
  const contracts = Map.groupBy(await readContracts(context), keyOf);
  const results = await readResults(context);
  const readings = await walletReadings(context);
  return results
    .flatMap(({ product, coin, result, unread, unmapped, ...off }) => {
      const own = contracts.get(keyOf({ product, coin })) ?? [];
      const sum = together(own).figures.contract_result;
      const movedOtherwise = decimalText(subtract(decimalOf(result), decimalOf(sum)));
      if (own.length === 0 && isZero(unmapped) && off.days === "0") return [];
      const unreadDays = unreadIn(context, readings, product, Number(unread));
      return [
        {
          product,
          coin,
          contracts: own,
          movedOtherwise,
          result,
          unreadDays,
          unmapped,
          off: { ...off, days: Number(off.days) },
        },
      ];
    })
    .toSorted((a, b) => a.product.localeCompare(b.product) || a.coin.localeCompare(b.coin));
}

type Row = Place & Record<PartName | "symbol" | "bills", string>;

/**
 * Sums profit, fees and funding from stored days. Other earnings, and fees in rows of their own, are
 * summed from bills, on the days that have such bills. With a million bills in 90 days, and such
 * bills on each day, the query takes 0.1 s.
 */
async function readContracts({
  tx,
  selection,
}: WalletContext): Promise<readonly (Place & Earned)[]> {
  const { account, from, to } = selection;
  const { rows } = await tx.execute<Row>(sql`
    with billed as (
      select
        wallet,
        coin,
        symbol,
        profit + loss as profit,
        fees + rebates as fees,
        funding_received + funding_paid as funding,
        0 as other,
        bills
      from current_symbol_days
      where account = ${account}
        and day between ${from}::date and ${to}::date
    ),
    other_days as (
      select wallet, day
      from ledger_days
      where account = ${account}
        and day between ${from}::date and ${to}::date
        and categories && ${textArray(otherResults)}::text[]
      union
      -- The categories of a dirty day are unknown.
      select wallet, day
      from dirty_days
      where account = ${account}
        and day between ${from}::date and ${to}::date
    ),
    others as (
      select bills.*
      from other_days
      cross join lateral (
        select
          wallet,
          coin,
          coalesce(symbol, '') as symbol,
          coalesce(sum(wallet_amount) filter (where ${isFeeRow}), 0) as fees,
          coalesce(sum(wallet_amount) filter (where not ${isFeeRow}), 0) as other,
          -- The others are among those that are stored.
          count(*) filter (where ${hasFee} is not true) as bills
        from analytics.entries
        where account = ${account}
          and product_type = any(${productTypesOf("other_days.wallet")})
          and c_time >= other_days.day::timestamp at time zone 'UTC'
          and c_time < (other_days.day + 1)::timestamp at time zone 'UTC'
          -- Looked at before anything is joined: few bills have such a type.
          and business_type in (
            select code
            from business_types
            where category = any(${textArray(otherResults)}::text[])
          )
          and ${isOwnResult}
        group by wallet, coin, coalesce(symbol, '')
      ) as bills
    )
    select
      wallet as product,
      coin,
      symbol,
      sum(profit)::text as contract_profit,
      sum(fees)::text as contract_fees,
      sum(funding)::text as contract_funding,
      sum(other)::text as contract_other,
      sum(profit + fees + funding + other)::text as contract_result,
      sum(bills)::bigint as bills
    from (
      select wallet, coin, symbol, profit, fees, funding, other, bills
      from billed
      union all
      select wallet, coin, symbol, 0, fees, 0, other, bills
      from others
    ) as parts
    group by wallet, coin, symbol
    order by symbol = '', abs(sum(profit + fees + funding + other)) desc, symbol`);
  return rows.map(({ product, coin, symbol, bills, ...figures }) => ({
    product,
    coin,
    symbol,
    figures,
    bills: Number(bills),
  }));
}

type CoinResult = Place & Readonly<Record<"result" | "unread" | "unmapped" | keyof Off, string>>;

/**
 * The results of all coins of the selected account, summed over the same days as the bridge and the
 * result by day. They are queried once for each context.
 */
export const readResults = onceFor(queryResults);

async function queryResults({ tx, selection, now }: WalletContext): Promise<readonly CoinResult[]> {
  const { account, from, to } = selection;
  const today = isoTime(now).slice(0, 10);
  const result = sql.join(
    resultLines.map(({ ofDay }) => ofDay),
    sql` + `,
  );
  const difference = lineOf("difference");
  const { rows } = await tx.execute<CoinResult>(sql`
    select
      product_type as product,
      coin,
      sum(${result})::text as result,
      count(*) filter (where ${difference.ofDay} <> 0) as days,
      sum(greatest(${difference.ofDay}, 0))::text as above,
      sum(least(${difference.ofDay}, 0))::text as below,
      sum(${difference.ofDay})::text as difference,
      sum(unmapped)::text as unmapped,
      count(*) filter (where not is_complete and day < ${today}::date) as unread
    from analytics.daily_rollforward
    where account = ${account}
      and day between ${from}::date and ${to}::date
    group by product_type, coin`);
  return rows;
}

/** The sum over several contracts of one coin. */
export function together(found: readonly Earned[]): Earned {
  const sum = (part: PartName) => sumOf(found.map(({ figures }) => figures[part]));
  return {
    symbol: "",
    figures: {
      contract_profit: sum("contract_profit"),
      contract_fees: sum("contract_fees"),
      contract_funding: sum("contract_funding"),
      contract_other: sum("contract_other"),
      contract_result: sum("contract_result"),
    },
    bills: found.reduce((all, { bills }) => all + bills, 0),
  };
}
