import { type SQL, sql } from "drizzle-orm";

/**
 * Joins bills to their category and, as `rule`, to the rule of what they move: the one that was learned
 * for their type, where it differs from its category's, else the category's. The view
 * analytics.entries does the same.
 *
 * Until reconcile has learned a rule, a bill moves its amount and fee, a margin move moves nothing, and
 * the amount of a spot trade contains its fee.
 *
 * @param alias of the bills.
 * @param account to which all bills belong. Needed in a distributed database where `alias` names a
 *   subquery, from which it cannot tell which node has the rules.
 */
export const joinRules = (alias: string, account?: string): SQL => {
  const bills = sql.raw(alias);
  const ofAccount = account ?? sql`${bills}.account`;
  return sql`
      left join business_types
        on business_types.code = ${bills}.business_type
      left join wallet_rules
        on wallet_rules.account = ${ofAccount}
        and wallet_rules.product_type = ${bills}.product_type
        and wallet_rules.category = business_types.category
      left join wallet_type_rules
        on wallet_type_rules.account = ${ofAccount}
        and wallet_type_rules.product_type = ${bills}.product_type
        and wallet_type_rules.business_type = ${bills}.business_type
      cross join lateral (
        select
          coalesce(
            wallet_type_rules.counts_amount,
            wallet_rules.counts_amount,
            business_types.category is distinct from 'margin'
          ) as counts_amount,
          coalesce(
            wallet_type_rules.counts_fee,
            wallet_rules.counts_fee,
            business_types.category not in ('margin', 'spot'),
            true
          ) as counts_fee,
          coalesce(wallet_type_rules.counts_coupon, wallet_rules.counts_coupon, false)
            as counts_coupon,
          wallet_type_rules.business_type is not null or coalesce(wallet_rules.is_testable, true)
            as is_testable
      ) as rule`;
};

/** By how much a bill moves its wallet's balance. */
export type WalletMoves = {
  /** The amount's part of the move, without a fee that the amount contains. */
  readonly amount: SQL;
  /** The part of the fee and of what a coupon paid, including a fee that the amount contains. */
  readonly fee: SQL;
  readonly moved: SQL;
};

/**
 * What bills move that {@link joinRules} has joined to their rules.
 * @param alias of the bills.
 */
export function walletMoves(alias: string): WalletMoves {
  const bills = sql.raw(alias);
  const amount = sql`case when rule.counts_amount then ${bills}.amount else 0 end`;
  const coupon = sql`case when rule.counts_coupon then coalesce(${bills}.fee_by_coupon, 0) else 0 end`;
  // In a unified account a balance that moves by the amount alone shows that the fee is inside it.
  const isFeeInside = sql`(
    rule.counts_amount and not rule.counts_fee and ${bills}.product_type like 'UTA-%'
  )`;
  return {
    amount: sql`(${amount} - case when ${isFeeInside} then ${bills}.fee else 0 end)`,
    fee: sql`(case when rule.counts_fee or ${isFeeInside} then ${bills}.fee else 0 end + ${coupon})`,
    moved: sql`(${amount} + case when rule.counts_fee then ${bills}.fee else 0 end + ${coupon})`,
  };
}
