import { sql } from "drizzle-orm";
import { isoTime } from "../../contract/time.ts";
import { walletOf } from "../../db/sql/wallet.ts";
import { onceFor } from "../once.ts";
import type { WalletContext } from "../section.ts";
import type { Day } from "../selection.ts";

/** What was read of the selected days of a wallet, whatever coins it has. */
export type WalletReading = {
  /** The day from which on runs read it. */
  readonly since: Day;
  /** The number of selected days since then and before today that were not read completely. */
  readonly unreadDays: number;
};

/**
 * The wallets of the selected account that runs began to read, by their names. They are queried once
 * for each context.
 */
export const walletReadings = onceFor(readReadings);

/**
 * The number of the selected days before today that were not read completely. Days before a coin's
 * first bill count, too.
 * @param ofCoin how many of the coin's own days were not. A wallet that is no longer read has no others.
 */
export const unreadIn = (
  { wallets }: Pick<WalletContext, "wallets">,
  readings: ReadonlyMap<string, WalletReading>,
  product: string,
  ofCoin: number,
): number => {
  const isEnded = wallets.some((wallet) => wallet.isEnded && wallet.product === product);
  return Math.max(ofCoin, isEnded ? 0 : (readings.get(product)?.unreadDays ?? 0));
};

async function readReadings({
  tx,
  selection: { account, from, to },
  now,
}: WalletContext): Promise<ReadonlyMap<string, WalletReading>> {
  const today = isoTime(now).slice(0, 10);
  const { rows } = await tx.execute<{ wallet: string; since: Day; unread: string }>(sql`
    with read as (
      select
        product_type,
        (lower(covered + lost + open) at time zone 'UTC')::date as since,
        covered as time
      from streams
      where account = ${account}
        and settled_to is not null
    ),
    wallets as (
      select
        ${walletOf("product_type")} as wallet,
        min(since) as since,
        range_intersect_agg(time) as time
      from read
      group by 1
    )
    select
      wallet,
      to_char(since, 'YYYY-MM-DD') as since,
      (
        select count(*)
        from unnest(array(
          select generate_series(0, least(${to}::date, ${today}::date - 1) - greatest(${from}::date, since))
        )) as later
        cross join lateral (select greatest(${from}::date, since) + later as day) as days
        where not time @> tstzrange(
          day::timestamp at time zone 'UTC',
          (day + 1)::timestamp at time zone 'UTC'
        )
      ) as unread
    from wallets`);
  return new Map(
    rows.map(({ wallet, since, unread }) => [wallet, { since, unreadDays: Number(unread) }]),
  );
}
