import { type SQL, sql } from "drizzle-orm";

/**
 * Joins bills to their category and to the rule of what they move, as `rule`: the one that was
 * learned of their type, where that differs from its category's, else the category's. The view
 * analytics.entries says the same.
 *
 * Until reconcile has learned one: amount and fee, a margin move nothing, and the amount of a spot
 * trade contains its fee.
 *
 * @param alias that of the bills.
 * @param account the one that all of them are of: where rows of other tables stand for the bills, they
 *   do not tell where the rules lie.
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

/** What a bill does to its wallet. */
export type WalletMoves = {
  /** The part of the amount, without a fee that it contains. */
  readonly amount: SQL;
  /** The part of the fee and of what a coupon paid, a fee inside the amount included. */
  readonly fee: SQL;
  readonly moved: SQL;
};

/**
 * Of bills that {@link joinRules} joined to their rules.
 * @param alias that of the bills.
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
