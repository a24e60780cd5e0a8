import { type SQL, sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { msOf, timeFrom, timeText } from "../db/sql/time-text.ts";
import { productTypesOf, walletOf } from "../db/sql/wallet.ts";

/** How far a chain was reconciled: a wallet's coin. */
export type ReconciledChain = {
  readonly account: string;
  /** A classic product type, or `UTA`. */
  readonly wallet: string;
  readonly coin: string;
  /** When the chain was last checked; undefined where that is not known. */
  readonly at: EpochMs | undefined;
  /** Up to when that check judged the chain's bills; undefined where none of its time was covered. */
  readonly through: EpochMs | undefined;
  /** How many balances that check could compute. */
  readonly tested: number;
  /** How many bills were stored or restated since; counts up to {@link sinceMax}. */
  readonly billsSince: number;
  /** Whether a type's mapping has changed since, or too many bills came to count them by chain. */
  readonly isOutdated: boolean;
};

export type Reconciled = {
  readonly chains: readonly ReconciledChain[];
  /** When the last `reconcile` that was not cut short ended. */
  readonly lastRunAt: EpochMs | undefined;
  /** When the last `reconcile` ended that read all bills of all accounts; undefined if that is not known. */
  readonly wholeRunAt: EpochMs | undefined;
  /** Whether the days of changed bills are not stored anew yet, because a run was cut short. */
  readonly isAnyDayDirty: boolean;
};

/** Where counting a chain's new bills stops. */
export const sinceMax = 10_000;
// So many chains are counted one by one: for 5,000 chains that took 1.6 s.
const singlyMax = 200;
const togetherMax = 200_000;

type Distribution = {
  /** Whether the rows are on several nodes, which refuse a limit for each row. */
  readonly isDistributed: boolean;
};

/** How far each chain was reconciled, and how many bills came since. */
export function readReconciled(db: Queryable, distribution: Distribution): Promise<Reconciled> {
  return withDatabaseErrors(async () => ({
    chains: await readChains(db, distribution),
    ...(await readRuns(db)),
  }));
}

async function readChains(
  db: Queryable,
  { isDistributed }: Distribution,
): Promise<readonly ReconciledChain[]> {
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
    -- The chains checked longest ago are counted one by one.
    singly as (
      ${isDistributed ? countedAll : countedToMax}
    ),
    -- All others are counted together, from the bills stored since the first of them was checked.
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
      ${msOf(sql`reconciled_at`)} as at,
      case when isfinite(reconciled_through) then ${msOf(sql`reconciled_through`)} end
        as through,
      tested,
      least(coalesce(singly.bills, together.bills, 0), ${sinceMax}) as since,
      -- Where too many bills came to count them together, those chains are reported as outdated.
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
    at: timeFrom(row.at),
    through: timeFrom(row.through),
    tested: Number(row.tested),
    billsSince: Number(row.since),
  }));
}

const isSince = sql`
          bills.account = chains.account
            and bills.product_type = any(${productTypesOf("chains.product_type")})
            and bills.coin = chains.coin
            and ingested_at >= chains.reconciled_at`;

const countedToMax = sql`
      select chains.account, chains.product_type, chains.coin, newer.bills
      from oldest as chains
      cross join lateral (
        select count(*) as bills
        from (
          select 1
          from bills
          where ${isSince}
          limit ${sinceMax}
        ) as counted
      ) as newer`;

const countedAll = sql`
      select chains.account, chains.product_type, chains.coin, count(bills.bill_id) as bills
      from oldest
      join reconciled_chains as chains using (account, product_type, coin)
      left join bills
        on ${isSince}
      group by chains.account, chains.product_type, chains.coin`;

/**
 * When the first of the chains was checked that are not counted one by one. A query of its own: given a
 * constant time, Postgres finds the newest bills by their index; otherwise it reads all bills.
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

async function readRuns(db: Queryable): Promise<Omit<Reconciled, "chains">> {
  const lastEnd = (isWanted: SQL) => sql`(
        select ${msOf(sql`finished_at`)}
        from sync_runs
        where command = 'reconcile'
          and outcome in ('complete', 'incomplete')
          and ${isWanted}
        order by started_at desc
        limit 1
      )`;
  const { rows } = await db.execute<{
    last_run_at: string | null;
    whole_run_at: string | null;
    is_any_day_dirty: boolean;
  }>(sql`
    select
      ${lastEnd(sql`true`)} as last_run_at,
      ${lastEnd(sql`counts @> '{"isOfAll": true}'`)} as whole_run_at,
      exists (select 1 from dirty_days where cause = 'bills') as is_any_day_dirty`);
  const [row] = rows;
  return {
    lastRunAt: timeFrom(row?.last_run_at ?? null),
    wholeRunAt: timeFrom(row?.whole_run_at ?? null),
    isAnyDayDirty: row?.is_any_day_dirty ?? false,
  };
}
