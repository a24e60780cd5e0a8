import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { productTypesOf } from "../db/sql/wallet.ts";

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
  /** Whether what its types mean was changed since. */
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

/** What `reconcile` has looked at, and what came since. */
export function readReconciled(db: Queryable): Promise<Reconciled> {
  return withDatabaseErrors(async () => ({
    chains: await readChains(db),
    ...(await readRuns(db)),
  }));
}

async function readChains(db: Queryable): Promise<readonly ReconciledChain[]> {
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
    select
      account,
      product_type as wallet,
      coin,
      extract(epoch from reconciled_at) * 1000 as at,
      case when isfinite(reconciled_through) then extract(epoch from reconciled_through) * 1000 end
        as through,
      tested,
      (
        select count(*)
        from (
          select 1
          from bills
          where bills.account = reconciled_chains.account
            and bills.product_type = any(${productTypesOf("reconciled_chains.product_type")})
            and bills.coin = reconciled_chains.coin
            and ingested_at >= reconciled_at
          limit ${sinceMax}
        ) as newer
      ) as since,
      not isfinite(ingested_before) as is_outdated
    from reconciled_chains
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
