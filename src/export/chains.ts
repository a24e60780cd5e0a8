import { sql } from "drizzle-orm";
import { dayMs, epochMs, isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import type { Interval } from "../sync/intervals.ts";
import { add, decimalOf, decimalText, subtract } from "./decimal.ts";
import type { Opening } from "./exported-bill.ts";
import type { ReportedWallet } from "./reported-wallets.ts";

/** What balances differ by from their bills. */
export const chainParts = ["rounding", "difference", "unsettled", "closed_out"] as const;

/** One coin of a wallet over a span of time; decimals as text. */
export type Chain = Readonly<Record<(typeof chainParts)[number], string>> & {
  readonly coin: string;
  /** Null where no bill shows a balance. */
  readonly opening: string | null;
};

/** What the wallets held at the span's start. A coin of which no bill shows a balance is left out. */
export async function readOpenings(
  tx: Transaction,
  wallets: readonly Wallet[],
  span: Interval,
): Promise<readonly Opening[]> {
  const all: Opening[] = [];
  for (const wallet of wallets)
    for (const { coin, opening } of await readChains(tx, wallet, span))
      if (opening !== null)
        all.push({
          ...{ account: wallet.account, wallet: wallet.productType, coin },
          ...{ balance: opening, at: span.from },
        });
  return all;
}

type Wallet = Omit<ReportedWallet, "isDemo" | "unread">;

/** The balances at the span's start, and what its balances differ by from its bills. */
export async function readChains(
  tx: Transaction,
  { account, productType, productTypes, closedAt }: Wallet,
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
