import { type SQL, sql } from "drizzle-orm";
import { textArray } from "../../db/array-literal.ts";
import type { Transaction } from "../../db/connect.ts";
import { candidates, type WalletRule } from "./wallet-rules.ts";

/** Which ledgers are reconciled. */
export type Scope = {
  /** Undefined for all that are stored. */
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly string[] | undefined;
};

/** What the bills of a category move the wallet by, learned or expected. */
const countsAmount = sql`coalesce(counts_amount, business_types.category is distinct from 'margin')`;
const countsFee = sql`coalesce(counts_fee, business_types.category is distinct from 'margin')`;
const countsCoupon = sql`coalesce(counts_coupon, false)`;
export const moved = sql`
      case when ${countsAmount} then amount else 0 end
      + case when ${countsFee} then fee else 0 end
      + case when ${countsCoupon} then coalesce(fee_by_coupon, 0) else 0 end`;

export const within = (name: string, values: readonly string[] | undefined): SQL =>
  values === undefined ? sql`true` : sql`${sql.raw(name)} = any(${textArray(values)}::text[])`;

const ofScope = ({ accounts, productTypes }: Scope): SQL => sql`
      ${within("bills.account", accounts)}
      and ${within("bills.product_type", productTypes)}`;

// A transaction that was under way while the last check looked may have stored bills since, with
// times before it. None lasts longer than the limit on its statements.
const underWayMax = sql`interval '10 minutes'`;

/**
 * Where to begin in each chain that changed since it was last checked: with the last balance
 * before the oldest bill that was stored since.
 */
export async function chooseChanged(tx: Transaction, scope: Scope): Promise<void> {
  await tx.execute(sql`
    create temporary table chains_to_check on commit drop as
    with changed as (
      select
        bills.account,
        bills.product_type,
        bills.coin,
        case
          when bool_or(ingested_before is null) then '-infinity'
          else min(bills.c_time)
        end as oldest
      from bills
      left join reconciled_chains using (account, product_type, coin)
      where ${ofScope(scope)}
        and (ingested_before is null or ingested_at >= ingested_before - ${underWayMax})
      group by bills.account, bills.product_type, bills.coin
    )
    select
      account,
      product_type,
      coin,
      coalesce(
        (
          select c_time
          from bills
          where bills.account = changed.account
            and bills.product_type = changed.product_type
            and bills.coin = changed.coin
            and bills.c_time < changed.oldest
            and balance is not null
          order by bills.c_time desc
          limit 1
        ),
        '-infinity'
      ) as since
    from changed`);
  await tx.execute(sql`analyze chains_to_check`);
}

/** What {@link moved} is told from. */
export const walletJoins = sql`
      left join business_types on code = business_type
      left join wallet_rules
        on wallet_rules.account = bills.account
        and wallet_rules.product_type = bills.product_type
        and wallet_rules.category = business_types.category`;

/** The bills to check, with what their category moves the wallet by. */
export type Checked = Scope | "changed";

const entries = (scope: Checked): { readonly from: SQL; readonly where: SQL } => ({
  from: sql`
      ${
        scope === "changed"
          ? sql`
      from chains_to_check
      join bills
        on bills.account = chains_to_check.account
        and bills.product_type = chains_to_check.product_type
        and bills.coin = chains_to_check.coin
        and bills.c_time >= chains_to_check.since`
          : sql`from bills`
      }
      ${walletJoins}`,
  where: scope === "changed" ? sql`true` : ofScope(scope),
});

/** The same bills, for a statement of its own. */
export const billsOf = (checked: Checked): SQL => {
  const { from, where } = entries(checked);
  return sql`${from} where ${where}`;
};

/**
 * Finds, in one pass over the chains, the bills whose balance is not the one before plus what
 * they move, and those for which that cannot be told from the two balances alone.
 */
export async function collectSuspects(tx: Transaction, scope: Checked): Promise<void> {
  const { from, where } = entries(scope);
  await tx.execute(sql`drop table if exists suspects`);
  await tx.execute(sql`
    create temporary table suspects on commit drop as
    select *
    from (
      select
        bills.account,
        bills.product_type,
        bills.coin,
        bills.bill_id,
        bills.c_time,
        symbol,
        business_type,
        coalesce(business_types.category, 'unknown') as category,
        coalesce(is_testable, true) as is_testable,
        amount,
        fee,
        fee_by_coupon,
        balance,
        ${moved} as moved,
        row_number() over chain as position,
        lag(balance) over chain as previous,
        lag(bills.bill_id) over chain as previous_bill_id,
        lag(bills.c_time) over chain as previous_time
      ${from}
      left join bill_order
        on bill_order.account = bills.account
        and bill_order.product_type = bills.product_type
        and bill_order.bill_id = bills.bill_id
      where ${where}
      window chain as (
        partition by bills.account, bills.product_type, bills.coin
        order by bills.c_time, coalesce(place, 0), length(bills.bill_id), bills.bill_id
      )
    ) as entries
    where balance is null
      or previous is null
      or balance - previous <> moved`);
}

/**
 * How far each of the suspects is off, by the last balance before it that was served. The first
 * balance of a chain has nothing to be held against.
 */
export async function collectResiduals(tx: Transaction): Promise<void> {
  await tx.execute(sql`drop table if exists residuals`);
  await tx.execute(sql`
    create temporary table residuals on commit drop as
    with numbered as (
      select
        suspects.*,
        -- A stretch begins behind a served balance, and ends with the next one.
        count(*) filter (where previous is not null or position = 1) over chain as stretch
      from suspects
      window chain as (partition by account, product_type, coin order by position)
    ),
    stretched as (
      select
        numbered.*,
        first_value(previous) over stretch as base,
        first_value(previous_bill_id) over stretch as base_bill_id,
        first_value(previous_time) over stretch as base_time,
        sum(moved) over stretch as moved_since,
        bool_and(is_testable) over stretch as are_testable
      from numbered
      window stretch as (
        partition by account, product_type, coin, stretch
        order by position
        rows unbounded preceding
      )
    )
    select
      account,
      product_type,
      coin,
      bill_id,
      c_time,
      symbol,
      business_type,
      category,
      amount,
      fee,
      balance,
      moved,
      position,
      base_bill_id,
      base_time,
      are_testable as is_testable,
      base + moved_since as expected,
      balance - base - moved_since as residual
    from stretched
    where balance - base - moved_since <> 0`);
}

/**
 * Adds the bills up by day and category, without regard to their order, and counts what each
 * candidate of a rule would say like the present one.
 */
export async function collectDaySums(tx: Transaction, scope: Checked): Promise<void> {
  const { from, where } = entries(scope);
  const sameAs = candidates.map(
    (rule, index) =>
      sql`count(*) filter (where ${movedBy(rule)} = ${moved}) as ${sql.raw(`same_${index}`)}`,
  );
  await tx.execute(sql`drop table if exists day_sums`);
  await tx.execute(sql`
    create temporary table day_sums on commit drop as
    select
      bills.account,
      bills.product_type,
      bills.coin,
      (bills.c_time at time zone 'UTC')::date as day,
      coalesce(business_types.category, 'unknown') as category,
      count(*) as bills,
      sum(${moved}) as moved,
      max(bills.c_time) as last_time,
      ${sql.join(sameAs, sql`, `)}
    ${from}
    where ${where}
    group by 1, 2, 3, 4, 5`);
}

/** What a bill would move the wallet by under a rule. */
export const movedBy = ({ countsAmount, countsFee, countsCoupon }: WalletRule): SQL => {
  const parts = [
    ...(countsAmount ? [sql`amount`] : []),
    ...(countsFee ? [sql`fee`] : []),
    ...(countsCoupon ? [sql`coalesce(fee_by_coupon, 0)`] : []),
  ];
  return parts.length === 0 ? sql`0` : sql`(${sql.join(parts, sql` + `)})`;
};
