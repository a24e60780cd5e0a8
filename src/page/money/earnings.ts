import { sql } from "drizzle-orm";
import type { WalletContext } from "../section.ts";
import type { PartName } from "./contract-parts.ts";
import { sumOf } from "./stretches.ts";

/** What was earned and paid in the selected days: decimals as text. */
export type Earned = {
  readonly product: string;
  readonly coin: string;
  /** Empty for bills that name no contract, and for all of a coin. */
  readonly symbol: string;
  readonly profit: string;
  readonly fees: string;
  readonly funding: string;
  readonly net: string;
  /** Those with a profit, a fee or funding, each once. */
  readonly bills: number;
};

/** The figure that a part is called by. */
export function figureOf(earned: Earned, part: PartName): string {
  switch (part) {
    case "contract_profit":
      return earned.profit;
    case "contract_fees":
      return earned.fees;
    case "contract_funding":
      return earned.funding;
    case "contract_net":
      return earned.net;
    default:
      return part satisfies never;
  }
}

export type Earnings = {
  /** The selected coin's, the largest net amount first, whatever its sign. */
  readonly contracts: readonly Earned[];
  /** All of the account's, by product, the most bills first. */
  readonly coins: readonly Earned[];
};

const read = new WeakMap<WalletContext, Promise<Earnings>>();

/** Of the selected account and days; asked for once, whatever number of sections shows them. */
export function readEarnings(context: WalletContext): Promise<Earnings> {
  const known = read.get(context) ?? readSums(context);
  read.set(context, known);
  return known;
}

async function readSums({ tx, selection }: WalletContext): Promise<Earnings> {
  const { account, product, coin, from, to } = selection;
  const { rows } = await tx.execute<Omit<Earned, "bills"> & { readonly bills: string }>(sql`
    select
      wallet as product,
      coin,
      symbol,
      sum(profit + loss)::text as profit,
      sum(fees + rebates)::text as fees,
      sum(funding_received + funding_paid)::text as funding,
      sum(profit + loss + fees + rebates + funding_received + funding_paid)::text as net,
      sum(bills)::bigint as bills
    from current_symbol_days
    where account = ${account}
      and day between ${from}::date and ${to}::date
    group by wallet, coin, symbol
    having sum(bills) > 0
    order by abs(sum(profit + loss + fees + rebates + funding_received + funding_paid)) desc, symbol`);
  const all = rows.map((row) => ({ ...row, bills: Number(row.bills) }));
  const byCoin = Map.groupBy(all, (each) => JSON.stringify([each.product, each.coin]));
  return {
    contracts: all.filter((each) => each.product === product && each.coin === coin),
    coins: [...byCoin.values()]
      .map(together)
      .toSorted((a, b) => a.product.localeCompare(b.product) || b.bills - a.bills),
  };
}

/** Of several contracts of one coin. */
export function together(found: readonly Earned[]): Earned {
  const sum = (pick: (one: Earned) => string) => sumOf(found.map(pick));
  return {
    product: found[0]?.product ?? "",
    coin: found[0]?.coin ?? "",
    symbol: "",
    profit: sum(({ profit }) => profit),
    fees: sum(({ fees }) => fees),
    funding: sum(({ funding }) => funding),
    net: sum(({ net }) => net),
    bills: found.reduce((all, { bills }) => all + bills, 0),
  };
}
