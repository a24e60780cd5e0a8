import { sql } from "drizzle-orm";
import type { Transaction } from "../../core/postgres/connect.ts";
import { textArray } from "../../core/postgres/values.ts";
import { type Interval, interval, subtract, union } from "../../core/words/intervals.ts";
import { type EpochMs, epochMs, isoTime } from "../../lib/time.ts";
import type { Opening } from "./exported-bill.ts";
import { inAll, isBillOf, type ReportedWallet, readTimes } from "./reported-wallets.ts";

/** The discrepancies of balances from their bills. */
export const chainParts = ["rounding", "discrepancy", "unreconciled", "left_behind"] as const;

/** One coin of a wallet over a span of time; decimals as text. */
type Chain = Readonly<Record<(typeof chainParts)[number], string>> & {
  readonly coin: string;
  /** Null where no bill shows a balance. */
  readonly opening: string | null;
};

/** The wallets' balances at the span's start. A coin of which no bill shows a balance is left out. */
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

type Wallet = Omit<ReportedWallet, "unread">;

/**
 * The balances at the span's start, and what its balances differ by from its bills: sums of UTC days. A zone's month begins
 * and ends within such days, so what bills of its first and last day say outside of it is taken off again.
 */
export async function readChains(
  tx: Transaction,
  { account, productType, productTypes, endedAt }: Wallet,
  { from, to }: Interval,
): Promise<readonly Chain[]> {
  if (endedAt !== undefined && endedAt < from) return [];
  const dayOf = (time: number) => isoTime(epochMs(time)).slice(0, 10);
  const [first, last] = [dayOf(from), dayOf(to - 1)];
  const isBefore = sql`c_time < ${isoTime(from)}::timestamptz`;
  const { rows } = await tx.execute<Chain>(sql`
    select
      coin,
      ((array_agg(opening order by day))[1] + sum(moved_before))::text as opening,
      sum(rounding)::text as rounding,
      sum(discrepancy)::text as discrepancy,
      sum(unreconciled)::text as unreconciled,
      ${endedAt === undefined ? sql`'0'` : sql`sum(left_behind)::text`} as left_behind
    from (
      select
        coin,
        day,
        opening,
        0 as moved_before,
        rounding,
        discrepancy,
        unreconciled,
        left_behind
      from analytics.daily_rollforward
      where account = ${account}
        and product_type = ${productType}
        and day between ${first}::date and ${last}::date
      union all
      select
        coin,
        null,
        null,
        case when ${isBefore} then net + rounding + coalesce(discrepancy + unreconciled, 0) else 0 end,
        -rounding,
        -coalesce(discrepancy, 0),
        -coalesce(unreconciled, 0),
        0
      from analytics.activity
      where ${isBillOf({ account, productTypes })}
        and day = any(${textArray([first, last])}::date[])
        and (${isBefore} or c_time >= ${isoTime(to)}::timestamptz)
    ) as parts
    group by coin
    order by coin`);
  const coins = rows.map(({ coin }) => coin);
  const wallet = { account, productType, productTypes };
  return [...rows, ...(await readLaterOpenings(tx, wallet, epochMs(to), { last, coins }))];
}

/** Coins of which the first bill comes after a time, with all time between read: their balance was the same before. */
async function readLaterOpenings(
  tx: Transaction,
  { account, productType, productTypes }: Pick<Wallet, "account" | "productType" | "productTypes">,
  to: EpochMs,
  /** The last UTC day of the span, and the coins that have days in it. */
  { last, coins }: { readonly last: string; readonly coins: readonly string[] },
): Promise<readonly Chain[]> {
  const { rows } = await tx.execute<Pick<Chain, "coin" | "opening"> & { readonly day: string }>(sql`
    select
      coin,
      to_char(first_day, 'YYYY-MM-DD') as day,
      opening::text as opening
    from chains
    cross join lateral (
      select opening
      from analytics.daily_rollforward
      where daily_rollforward.account = chains.account
        and daily_rollforward.product_type = chains.wallet
        and daily_rollforward.coin = chains.coin
        and day = first_day
    ) as first
    where account = ${account}
      and wallet = ${productType}
      and first_day > ${last}::date
      and coin <> all(${textArray(coins)}::text[])
    order by coin`);
  if (rows.length === 0) return [];
  const times = await readTimes(tx, { account, productTypes });
  const read = inAll(
    times.map(({ coverage, recovered = [] }) => union([...coverage, ...recovered])),
  );
  return rows
    .filter(({ opening }) => opening !== null)
    .filter(({ day }) => subtract(interval(to, Date.parse(day)), read).length === 0)
    .map(({ coin, opening }) => ({
      ...{ coin, opening, rounding: "0", discrepancy: "0", unreconciled: "0", left_behind: "0" },
    }));
}
