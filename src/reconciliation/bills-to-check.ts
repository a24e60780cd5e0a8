import { type SQL, sql } from "drizzle-orm";
import { isUnified, unifiedProductTypes, unifiedWallet } from "../contract/product-types.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { expectedRuleText, type WalletRule } from "../db/sql/expected-rule.ts";
import { productTypesOf, walletOf } from "../db/sql/wallet.ts";

/** The ledgers to reconcile. */
export type Scope = {
  /** Undefined for all stored accounts. */
  readonly accounts: readonly string[] | undefined;
  readonly productTypes: readonly string[] | undefined;
};

/**
 * What one check looks at. Each of its statements names the account, so that a distributed database runs
 * it on the node that has the account's rows.
 */
export type AccountScope = {
  readonly account: string;
  readonly productTypes: readonly string[] | undefined;
};

/** Bills to check: parts of a statement. */
export type BillsToCheck = {
  readonly from: SQL;
  /** The same bills from the view analytics.entries, under the same alias. */
  readonly fromView: SQL;
  readonly where: SQL;
  /**
   * Whether a bill's type has a rule other than amount and fee in some stream. Few types have one, and
   * only for their bills the rule is looked up: joining the rules to every bill costs a quarter of the pass.
   */
  readonly isException: SQL;
};

export const within = (name: string, values: readonly string[] | undefined): SQL =>
  values === undefined ? sql`true` : sql`${sql.raw(name)} = any(${textArray(values)}::text[])`;

/** The product type of a break's last good bill. @param alias of the break's row. */
export const lastGoodProductType = (alias: string): SQL =>
  sql.raw(`coalesce(${alias}.last_good_product_type, ${alias}.product_type)`);

/**
 * Widens a scope to whole wallets. All product types of a wallet share its balance, so where one of them is
 * asked for, all are checked, and so is what is stored under the wallet's name.
 */
export function withWholeWallets({ accounts, productTypes }: Scope): Scope {
  if (productTypes === undefined || !productTypes.some(isUnified))
    return { accounts, productTypes };
  const others = productTypes.filter((productType) => !isUnified(productType));
  return { accounts, productTypes: [...others, ...unifiedProductTypes, unifiedWallet] };
}

const ofScope = ({ account, productTypes }: AccountScope): SQL => sql`
      bills.account = ${account}
      and ${within("bills.product_type", productTypes)}`;

/**
 * The range of time in which a bill that is missing between two bills may lie. It begins earlier than the
 * first of them, since a bill's time may be earlier than that of one booked before it.
 * @param wallet a column.
 */
export const timeBetween = (from: string, to: string, wallet: string): SQL => sql`tstzrange(
          least(${sql.raw(from)}, ${sql.raw(to)}) - ${bookedMaxOf(wallet)},
          greatest(${sql.raw(from)}, ${sql.raw(to)}),
          '[]'
        )`;

// A transaction that was under way during the last check may have committed bills since, with times
// before that check. No transaction lasts longer than this.
const underWayMax = sql`interval '10 minutes'`;

/**
 * Finds where to begin in each chain that changed since its last check: at the last balance before the
 * oldest bill that was stored since, before the old place of one that was restated, or before a break
 * beside which missing time was read since.
 */
export async function chooseChanged(tx: Transaction, scope: AccountScope): Promise<void> {
  const { account } = scope;
  await tx.execute(sql`
    create temporary table chains_to_check on commit drop as
    with touched as (
      select account, ${walletOf("product_type")} as wallet, coin, c_time, ingested_at as touched_at
      from bills
      where ${ofScope(scope)}
      union all
      select account, ${walletOf("product_type")}, coin, c_time, replaced_at
      from bill_revisions as bills
      where ${ofScope(scope)}
      union all
      -- Breaks beside time that was unread and is covered now, whether or not it had a bill.
      select bills.account, bills.product_type, bills.coin, bills.happened_at, 'infinity'
      from ledger_breaks as bills
      join bills as good
        on good.account = ${account}
        and good.product_type = ${lastGoodProductType("bills")}
        and good.bill_id = bills.last_good_bill
      join covered_wallets as covered
        on covered.account = bills.account
        and covered.wallet = bills.product_type
        and covered.time @> ${timeBetween("good.c_time", "bills.happened_at", "bills.product_type")}
      where bills.kind = 'unread'
        and bills.state = 'open'
        and ${ofScope(scope)}
    ),
    changed as (
      select
        touched.account,
        wallet,
        touched.coin,
        case
          when bool_or(ingested_before is null) then '-infinity'
          else min(c_time)
        end as oldest
      from touched
      left join reconciled_chains
        on reconciled_chains.account = ${account}
        and reconciled_chains.product_type = wallet
        and reconciled_chains.coin = touched.coin
      where ingested_before is null
        or touched_at >= ingested_before - ${underWayMax}
      group by touched.account, wallet, touched.coin
    ),
    begun as (
      select account, wallet, changed.coin, coalesce(max(before.c_time), '-infinity') as since
      from changed
      cross join lateral unnest(${productTypesOf("wallet")}) as member
      left join lateral (
        select c_time
        from bills
        where bills.account = ${account}
          and bills.product_type = member
          and bills.coin = changed.coin
          -- Twice: a bill may change places with bills this much older, and those with still older ones.
          and bills.c_time < changed.oldest - 2 * ${bookedMaxOf("wallet")}
          and balance is not null
        order by bills.c_time desc
        limit 1
      ) as before on true
      group by account, wallet, changed.coin
    ),
    learned as (
      select
        begun.account,
        wallet,
        begun.coin,
        unnest(range_agg(tstzrange(c_time, booked_at, '[]'))) as time
      from begun
      join bill_order
        on bill_order.account = ${account}
        and bill_order.product_type = any(${productTypesOf("wallet")})
      join bills
        on bills.account = ${account}
        and bills.product_type = bill_order.product_type
        and bills.bill_id = bill_order.bill_id
        and bills.coin = begun.coin
      where booked_at is not null
      group by begun.account, wallet, begun.coin
    )
    select account, wallet, member as product_type, coin, coalesce(lower(time), since) as since
    from begun
    -- The check must not begin between bills whose learned order differs from that of their times.
    left join lateral (
      select time
      from learned
      where (learned.account, learned.wallet, learned.coin) = (begun.account, begun.wallet, begun.coin)
        and time @> since
    ) as crossed on true
    cross join lateral unnest(${productTypesOf("wallet")}) as member`);
  await tx.execute(sql`analyze chains_to_check`);
}

/** The bills that are checked, and which of them may not move the wallet by amount and fee. */
export async function billsToCheck(
  tx: Transaction,
  scope: AccountScope,
  checked: "all" | "changed",
): Promise<BillsToCheck> {
  const { account } = scope;
  const { rows } = await tx.execute<{ code: string; is_coupon: boolean }>(sql`
    with rules as (
      select
        code,
        counts_amount,
        counts_fee,
        counts_coupon,
        not ${sql.raw(expectedRuleText("category").isAmountAndFee)} as is_exception
      from business_types
      left join (
        select category, counts_amount, counts_fee, counts_coupon
        from wallet_rules
        where account = ${account}
      ) as learned using (category)
      union all
      select business_type, counts_amount, counts_fee, counts_coupon, false
      from wallet_type_rules
      where account = ${account}
    )
    select code, bool_and(coalesce(counts_amount and counts_fee, false)) as is_coupon
    from rules
    where is_exception
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
        on bills.account = ${account}
        and bills.product_type = chains_to_check.product_type
        and bills.coin = chains_to_check.coin
        and bills.c_time >= chains_to_check.since`
      : sql`
      from ${source} as bills`;
  return {
    from: from(sql`public.bills`),
    fromView: from(sql`analytics.entries`),
    where: checked === "changed" ? sql`true` : ofScope(scope),
    isException: sql`(
      business_type = any(${types(false)}::text[])
      or (coalesce(fee_by_coupon, 0) <> 0 and business_type = any(${types(true)}::text[]))
    )`,
  };
}

/** What a bill would move the wallet by under a rule. */
export function movedBy({ countsAmount, countsFee, countsCoupon }: WalletRule): SQL {
  const parts = [
    ...(countsAmount ? [sql`amount`] : []),
    ...(countsFee ? [sql`fee`] : []),
    ...(countsCoupon ? [sql`coalesce(fee_by_coupon, 0)`] : []),
  ];
  return parts.length === 0 ? sql`0` : sql`(${sql.join(parts, sql` + `)})`;
}
