import { type SQL, sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import type { WalletRule } from "./wallet-rules.ts";

/** Which ledgers are reconciled. */
export type Scope = {
  /** Undefined for all that are stored. */
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly string[] | undefined;
};

/** All bills of a scope, or those of `chains_to_check` only. */
export type Checked = Scope | "changed";

/** Bills to check: parts of a statement. */
export type BillsToCheck = {
  readonly from: SQL;
  /** The same from the view that says what each bill is, under the same name. */
  readonly fromView: SQL;
  readonly where: SQL;
  /**
   * Whether a bill's kind has another rule than amount and fee in some stream. Nearly none has: what
   * it moves is looked up for those alone. Joined to each bill, the rules cost a quarter of the pass.
   */
  readonly isException: SQL;
};

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
 * before the oldest bill that was stored since, or before the place that a restated one left, or
 * before a break whose surroundings were read since.
 */
export async function chooseChanged(tx: Transaction, scope: Scope): Promise<void> {
  await tx.execute(sql`
    create temporary table chains_to_check on commit drop as
    with touched as (
      select account, product_type, coin, c_time, ingested_at as touched_at
      from bills
      where ${ofScope(scope)}
      union all
      select account, product_type, coin, c_time, replaced_at
      from bill_revisions as bills
      where ${ofScope(scope)}
      union all
      -- What was not read beside a break is read by now, whether or not it brought a bill.
      select bills.account, bills.product_type, bills.coin, bills.happened_at, 'infinity'
      from ledger_breaks as bills
      join bills as good
        on good.account = bills.account
        and good.product_type = bills.product_type
        and good.bill_id = bills.last_good_bill
      join covered_streams as covered
        on covered.account = bills.account
        and covered.product_type = bills.product_type
        and covered.time @> tstzrange(good.c_time, bills.happened_at, '[]')
      where bills.kind = 'unread'
        and bills.state = 'open'
        and ${ofScope(scope)}
    ),
    changed as (
      select
        account,
        product_type,
        coin,
        case
          when bool_or(ingested_before is null) then '-infinity'
          else min(c_time)
        end as oldest
      from touched
      left join reconciled_chains using (account, product_type, coin)
      where ingested_before is null
        or touched_at >= ingested_before - ${underWayMax}
      group by account, product_type, coin
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

/**
 * What was completely read of each stream, in `covered_streams`. Bills behind its end are those
 * that may still be joined by late ones: what does not follow there is not judged yet.
 */
export async function collectCoverage(tx: Transaction): Promise<void> {
  await tx.execute(sql`
    create temporary table covered_streams on commit drop as
    select
      account,
      product_type,
      range_agg(tstzrange(window_start, window_end)) as time,
      max(window_end) as settled_to
    from checkpoints
    where state = 'complete'
    group by account, product_type`);
}

/** The bills that are checked, and which of them may not move the wallet by amount and fee. */
export async function billsToCheck(tx: Transaction, checked: Checked): Promise<BillsToCheck> {
  const { rows } = await tx.execute<{ code: string; is_coupon: boolean }>(sql`
    select
      code,
      bool_and(coalesce(counts_amount and counts_fee, false)) as is_coupon
    from business_types
    left join wallet_rules using (category)
    where category = 'margin'
      or (counts_amount, counts_fee, counts_coupon) <> (true, true, false)
    group by code
    order by code`);
  const types = (isCoupon: boolean) =>
    textArray(rows.filter(({ is_coupon }) => is_coupon === isCoupon).map(({ code }) => code));
  const from = (source: SQL) =>
    checked === "changed"
      ? sql`
      from chains_to_check
      join ${source} as bills
        on bills.account = chains_to_check.account
        and bills.product_type = chains_to_check.product_type
        and bills.coin = chains_to_check.coin
        and bills.c_time >= chains_to_check.since`
      : sql`
      from ${source} as bills`;
  return {
    from: from(sql`public.bills`),
    fromView: from(sql`analytics.entries`),
    where: checked === "changed" ? sql`true` : ofScope(checked),
    isException: sql`(
      business_type = any(${types(false)}::text[])
      or (coalesce(fee_by_coupon, 0) <> 0 and business_type = any(${types(true)}::text[]))
    )`,
  };
}

// Of a bill that is joined to its business type and to its wallet rule, if one was learned.
const movesUnlearned = sql`business_types.category is distinct from 'margin'`;

/** The part of a bill's amount that moves the wallet: all of it or nothing. */
export const walletAmountByRule: SQL = sql`
  case when coalesce(counts_amount, ${movesUnlearned}) then amount else 0 end`;

/** The part of its fee and of what a coupon paid that moves the wallet. */
export const walletFeeByRule: SQL = sql`(
  case when coalesce(counts_fee, ${movesUnlearned}) then fee else 0 end
  + case when counts_coupon then coalesce(fee_by_coupon, 0) else 0 end
)`;

/** What the bill moves the wallet by. */
export const movedByRule: SQL = sql`(${walletAmountByRule} + ${walletFeeByRule})`;

/** What a bill would move the wallet by under a rule. */
export function movedBy({ countsAmount, countsFee, countsCoupon }: WalletRule): SQL {
  const parts = [
    ...(countsAmount ? [sql`amount`] : []),
    ...(countsFee ? [sql`fee`] : []),
    ...(countsCoupon ? [sql`coalesce(fee_by_coupon, 0)`] : []),
  ];
  return parts.length === 0 ? sql`0` : sql`(${sql.join(parts, sql` + `)})`;
}
