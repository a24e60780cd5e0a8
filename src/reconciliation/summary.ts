import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import type { WalletRule } from "../db/sql/expected-rule.ts";
import { walletOf } from "../db/sql/wallet.ts";
import { type AccountScope, within } from "./bills-to-check.ts";
import { movesText } from "./wallet-rules.ts";

/** The result of checking one chain: an account, a wallet and a coin. */
export type ChainSummary = {
  readonly account: string;
  /** The wallet; "UTA" in a unified account. */
  readonly productType: string;
  readonly coin: string;
  readonly bills: number;
  /** Bills whose balance could be computed. */
  readonly tested: number;
  /** How many of them are off by one unit in the last place; below, the sum of these differences. */
  readonly rounded: number;
  readonly rounding: string;
  /** UTC days with bills: reconciled, not completely read, with an open break. */
  readonly days: {
    readonly reconciled: number;
    readonly incomplete: number;
    readonly broken: number;
  };
};

/** The rule by which a category was found to move the wallet, and how often it fits. */
export type RuleSummary = {
  readonly account: string;
  readonly productType: string;
  readonly category: string;
  /** Null for the rule of a category, which holds for types without a rule of their own. */
  readonly businessType: string | null;
  readonly moves: string;
  readonly tested: number;
  readonly fitting: number;
  readonly isTestable: boolean;
};

// A ledger that rounds does so in one bill of five. Less than one bill in a hundred is no habit.
const roundingShareMin = sql.raw("0.01");
const roundingMin = 3;
const isHabit = (rounded: SQL, tested: SQL): SQL =>
  sql`(${rounded} >= ${roundingMin} and ${rounded} >= (${tested}) * ${roundingShareMin})`;

/**
 * Counts what was checked into `checked_chains`, chain by chain. Whether a chain rounds is judged from all
 * of its bills: from this check, or from the last whole one.
 */
export async function summariseChains(
  tx: Transaction,
  { account }: AccountScope,
  checked: "all" | "changed",
): Promise<void> {
  await tx.execute(sql`drop table if exists checked_chains`);
  await tx.execute(sql`
    create temporary table checked_chains on commit drop as
    with sums as (
      select account, wallet, coin, sum(bills)::bigint as bills
      from day_sums
      group by account, wallet, coin
    ),
    unknown as (
      select account, wallet, coin, count(*) as bills
      from suspects
      where balance is null
        or previous is null
      group by account, wallet, coin
    ),
    unsettled as (
      select
        residuals.account,
        residuals.wallet,
        residuals.coin,
        min(residuals.c_time) as since
      from residuals
      join covered_wallets using (account, wallet)
      where residuals.c_time >= settled_to
      group by residuals.account, residuals.wallet, residuals.coin
    ),
    small as (
      select
        account,
        wallet,
        coin,
        count(*) as rounded,
        sum(residual) as rounding
      from residuals
      where is_small
      group by account, wallet, coin
    )
    select
      sums.account,
      wallet,
      sums.coin,
      sums.bills,
      sums.bills - coalesce(unknown.bills, 0) as tested,
      coalesce(small.rounded, 0) as rounded,
      coalesce(rounding, 0) as rounding,
      unsettled.since as unjudged_from,
      case
        when ${checked === "all"} or reconciled_chains.tested is null
        then ${isHabit(sql`coalesce(small.rounded, 0)`, sql`sums.bills - coalesce(unknown.bills, 0)`)}
        else ${isHabit(sql`reconciled_chains.rounded`, sql`reconciled_chains.tested`)}
      end as does_round
    from sums
    left join unknown using (account, wallet, coin)
    left join small using (account, wallet, coin)
    left join unsettled using (account, wallet, coin)
    left join reconciled_chains
      on reconciled_chains.account = ${account}
      and reconciled_chains.product_type = wallet
      and reconciled_chains.coin = sums.coin`);
}

/**
 * Stores how far each chain was checked, so that the next check begins there. The counts are those of the
 * last whole check: the ranges of partial checks overlap, so their counts cannot be added up.
 */
export async function writeChains(
  tx: Transaction,
  scope: AccountScope,
  checked: "all" | "changed",
): Promise<readonly ChainSummary[]> {
  await tx.execute(sql`
    insert into reconciled_chains (
      account, product_type, coin, ingested_before, unjudged_from, tested, rounded
    )
    select account, wallet, coin, transaction_timestamp(), unjudged_from, tested, rounded
    from checked_chains
    on conflict (account, product_type, coin) do update
    set
      unjudged_from = excluded.unjudged_from,
      tested = case when ${checked === "all"} then excluded.tested else reconciled_chains.tested end,
      rounded = case when ${checked === "all"} then excluded.rounded else reconciled_chains.rounded end`);
  await noteWhen(tx, scope);
  const { rows } = await tx.execute<{
    account: string;
    wallet: string;
    coin: string;
    bills: string;
    tested: string;
    rounded: string;
    rounding: string;
    reconciled: string;
    incomplete: string;
    broken: string;
  }>(sql`
    with broken as (
      select distinct
        account,
        ${walletOf("product_type")} as wallet,
        coin,
        (happened_at at time zone 'UTC')::date as day
      from ledger_breaks
      where account = ${scope.account}
        and state = 'open'
    ),
    days as (
      select distinct account, wallet, coin, day
      from day_sums
    ),
    judged as (
      select
        days.account,
        days.wallet,
        days.coin,
        broken.day is not null as is_broken,
        coalesce(
          covered.time @> tstzrange(days.day at time zone 'UTC', (days.day + 1) at time zone 'UTC'),
          false
        ) as is_complete
      from days
      left join covered_wallets as covered using (account, wallet)
      left join broken using (account, wallet, coin, day)
    )
    select
      account,
      wallet,
      coin,
      checked_chains.bills,
      tested,
      rounded,
      rounding::text,
      count(*) filter (where is_complete and not is_broken) as reconciled,
      count(*) filter (where not is_complete and not is_broken) as incomplete,
      count(*) filter (where is_broken) as broken
    from checked_chains
    join judged using (account, wallet, coin)
    group by account, wallet, coin, checked_chains.bills, tested, rounded, rounding
    order by account, wallet, coin`);
  return rows.map((row) => ({
    account: row.account,
    productType: row.wallet,
    coin: row.coin,
    bills: Number(row.bills),
    tested: Number(row.tested),
    rounded: Number(row.rounded),
    rounding: row.rounding,
    days: {
      reconciled: Number(row.reconciled),
      incomplete: Number(row.incomplete),
      broken: Number(row.broken),
    },
  }));
}

/**
 * Stores the time of the check for all chains of the scope. That includes those in which nothing changed:
 * the next check looks for bills that were stored since the first of these times.
 */
async function noteWhen(tx: Transaction, { account, productTypes }: AccountScope): Promise<void> {
  await tx.execute(sql`
    update reconciled_chains
    set
      ingested_before = transaction_timestamp(),
      reconciled_at = transaction_timestamp(),
      reconciled_through = (
        select settled_to
        from covered_wallets
        where covered_wallets.account = reconciled_chains.account
          and covered_wallets.wallet = reconciled_chains.product_type
      ),
      covered = coalesce(
        (
          select time
          from covered_wallets
          where covered_wallets.account = reconciled_chains.account
            and covered_wallets.wallet = reconciled_chains.product_type
        ),
        '{}'
      )
    where account = ${account}
      and ${within("product_type", productTypes)}`);
}

export async function readRules(
  tx: Transaction,
  { account, productTypes }: AccountScope,
): Promise<readonly RuleSummary[]> {
  const { rows } = await tx.execute<Omit<RuleSummary, "moves"> & WalletRule>(sql`
    select
      account,
      product_type as "productType",
      category,
      business_type as "businessType",
      counts_amount as "countsAmount",
      counts_fee as "countsFee",
      counts_coupon as "countsCoupon",
      tested,
      fitting,
      is_testable as "isTestable"
    from (
      select
        account, product_type, category, null as business_type, counts_amount, counts_fee,
        counts_coupon, tested, fitting, is_testable
      from wallet_rules
      union all
      select
        account, product_type, category, business_type, counts_amount, counts_fee, counts_coupon,
        tested, fitting, true
      from wallet_type_rules
      join business_types on code = business_type
    ) as rules
    where account = ${account}
      and ${within("product_type", productTypes)}
    order by account, product_type, category, business_type nulls first`);
  return rows.map(({ countsAmount, countsFee, countsCoupon, ...row }) => ({
    ...row,
    moves: movesText({ countsAmount, countsFee, countsCoupon }),
    tested: Number(row.tested),
    fitting: Number(row.fitting),
  }));
}
