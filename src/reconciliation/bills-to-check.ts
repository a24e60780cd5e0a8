import { type SQL, sql } from "drizzle-orm";
import { isUnified, unifiedProductTypes, unifiedWallet } from "../contract/product-types.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { bookedMaxOf } from "../db/sql/chain-order.ts";
import { expectedRuleText, type WalletRule } from "../db/sql/expected-rule.ts";

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

/** The chains of `chains_to_check`. */
export type Chosen = {
  /** Where the check begins in the first of them, as text. */
  readonly earliest: string;
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

export const ofScope = ({ account, productTypes }: AccountScope): SQL => sql`
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

/** The bills that are checked, and which of them may not move the wallet by amount and fee. */
export async function billsToCheck(
  tx: Transaction,
  scope: AccountScope,
  chosen: Chosen | "all",
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
    chosen === "all"
      ? sql`
      from ${source} as bills`
      : sql`
      from chains_to_check
      join ${source} as bills
        on bills.account = ${account}
        and bills.product_type = chains_to_check.product_type
        and bills.coin = chains_to_check.coin
        and bills.c_time >= chains_to_check.since
        -- A constant, from which Postgres knows that these are few.
        and bills.c_time >= ${chosen.earliest}::timestamptz`;
  return {
    from: from(sql`public.bills`),
    fromView: from(sql`analytics.entries`),
    where: chosen === "all" ? ofScope(scope) : sql`true`,
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
