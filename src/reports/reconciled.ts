import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { timeText } from "../db/sql/time-text.ts";
import { productTypesOf, walletOf } from "../db/sql/wallet.ts";

/** What was reconciled of a wallet's coin. */
export type ReconciledChain = {
  readonly account: string;
  /** A classic product type, or `UTA`. */
  readonly wallet: string;
  readonly coin: string;
  /** When it was checked last; undefined where nobody knows. */
  readonly at: EpochMs | undefined;
  /** Up to when that check judged its bills; undefined where none of its time was read. */
  readonly through: EpochMs | undefined;
  /** Bills whose balance that check could compute. */
  readonly tested: number;
  /** Bills that were stored or restated since, up to {@link sinceMax} of them. */
  readonly billsSince: number;
  /** Whether what its types mean was changed since, or too many bills came to tell whose they are. */
  readonly isOutdated: boolean;
};

export type Reconciled = {
  readonly chains: readonly ReconciledChain[];
  /** When the last `reconcile` ended that came to an end. */
  readonly lastRunAt: EpochMs | undefined;
  /** Whether bills changed whose days are not stored anew yet: a run was cut short. */
  readonly isAnyDayDirty: boolean;
};

/** More of them are not counted. */
export const sinceMax = 10_000;
// Of 5,000 chains, counting for each took 1.6 s.
const singlyMax = 200;
const togetherMax = 200_000;

/** What `reconcile` has looked at, and what came since. */
export function readReconciled(db: Queryable): Promise<Reconciled> {
  return withDatabaseErrors(async () => ({
    chains: await readChains(db),
    ...(await readRuns(db)),
  }));
}

async function readChains(db: Queryable): Promise<readonly ReconciledChain[]> {
  const others = await readOthersSince(db);
  const { rows } = await db.execute<{
    account: string;
    wallet: string;
    coin: string;
    at: string | null;
    through: string | null;
    tested: string;
    since: string;
    is_outdated: boolean;
  }>(sql`
    with oldest as materialized (
      select account, product_type, coin, reconciled_at
      from reconciled_chains
      where reconciled_at is not null
      order by reconciled_at
      limit ${singlyMax}
    ),
    -- A chain by itself, whatever came to the others since.
    singly as (
      select oldest.account, oldest.product_type, oldest.coin, newer.bills
      from oldest
      cross join lateral (
        select count(*) as bills
        from (
          select 1
          from bills
          where bills.account = oldest.account
            and bills.product_type = any(${productTypesOf("oldest.product_type")})
            and bills.coin = oldest.coin
            and ingested_at >= reconciled_at
          limit ${sinceMax}
        ) as counted
      ) as newer
    ),
    -- All others at once: what came since the first of them was checked.
    newest as materialized (
      select account, ${walletOf("product_type")} as product_type, coin, ingested_at
      from bills
      where ${others === undefined ? sql`false` : sql`ingested_at >= ${others}::timestamptz`}
      limit ${togetherMax}
    ),
    together as (
      select account, product_type, coin, count(*) as bills
      from newest
      join reconciled_chains using (account, product_type, coin)
      where ingested_at >= reconciled_at
      group by account, product_type, coin
    )
    select
      account,
      product_type as wallet,
      coin,
      extract(epoch from reconciled_at) * 1000 as at,
      case when isfinite(reconciled_through) then extract(epoch from reconciled_through) * 1000 end
        as through,
      tested,
      least(coalesce(singly.bills, together.bills, 0), ${sinceMax}) as since,
      -- Where too many came to look at each, nobody knows of the others.
      not isfinite(ingested_before)
        or (
          singly.bills is null
          and together.bills is null
          and (select count(*) from newest) = ${togetherMax}
        ) as is_outdated
    from reconciled_chains
    left join singly using (account, product_type, coin)
    left join together using (account, product_type, coin)
    order by account, product_type, coin`);
  return rows.map(({ account, wallet, coin, is_outdated: isOutdated, ...row }) => ({
    account,
    wallet,
    coin,
    isOutdated,
    at: timeOf(row.at),
    through: timeOf(row.through),
    tested: Number(row.tested),
    billsSince: Number(row.since),
  }));
}

/**
 * When the first of those chains was checked that are not counted by themselves. Asked for alone: by a
 * time that it knows, Postgres finds the newest bills by their index, and reads all of them otherwise.
 */
async function readOthersSince(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.execute<{ since: string }>(sql`
    select ${timeText(sql`reconciled_at`)} as since
    from reconciled_chains
    where reconciled_at is not null
    order by reconciled_at
    offset ${singlyMax}
    limit 1`);
  return rows[0]?.since;
}

const timeOf = (ms: string | null): EpochMs | undefined =>
  ms === null ? undefined : epochMs(Math.round(Number(ms)));

async function readRuns(db: Queryable): Promise<Omit<Reconciled, "chains">> {
  const { rows } = await db.execute<{ last_run_at: string | null; is_any_day_dirty: boolean }>(sql`
    select
      (
        select extract(epoch from finished_at) * 1000
        from sync_runs
        where command = 'reconcile'
          and outcome in ('complete', 'incomplete')
        order by started_at desc
        limit 1
      ) as last_run_at,
      exists (select 1 from dirty_days where cause = 'bills') as is_any_day_dirty`);
  const [row] = rows;
  return {
    lastRunAt: timeOf(row?.last_run_at ?? null),
    isAnyDayDirty: row?.is_any_day_dirty ?? false,
  };
}
