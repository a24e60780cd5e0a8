import { type SQL, sql } from "drizzle-orm";
import { expectedRuleText } from "./expected-rule.ts";

const expected = expectedRuleText("business_types.category");

/**
 * Joins bills to their category and, as `rule`, to what they move: what was learned of their type, else what was
 * learned of their category, else what is expected of it.
 *
 * @param bills the alias of the bills.
 * @param account the account of all of them, as SQL. Needed in a distributed database where `bills` names a
 *   subquery, from which it cannot tell which node has the rules.
 */
export const joinRulesText = (bills: string, account = `${bills}.account`): string => `
      left join business_types
        on business_types.code = ${bills}.business_type
      left join wallet_rules as category_rules
        on category_rules.account = ${account}
        and category_rules.product_type = ${bills}.product_type
        and category_rules.category = business_types.category
        and category_rules.business_type = ''
      left join wallet_rules as type_rules
        on type_rules.account = ${account}
        and type_rules.product_type = ${bills}.product_type
        and type_rules.business_type = ${bills}.business_type
      cross join lateral (
        select
          coalesce(
            type_rules.counts_amount,
            category_rules.counts_amount,
            ${expected.countsAmount}
          ) as counts_amount,
          coalesce(
            type_rules.counts_fee,
            category_rules.counts_fee,
            ${expected.countsFee}
          ) as counts_fee,
          coalesce(type_rules.counts_coupon, category_rules.counts_coupon, false) as counts_coupon,
          coalesce(type_rules.is_testable, category_rules.is_testable, true) as is_testable
      ) as rule`;

export const joinRules = (bills: string, account?: string): SQL =>
  account === undefined
    ? sql.raw(joinRulesText(bills))
    : sql.join(
        joinRulesText(bills, "$account")
          .split("$account")
          .map((part) => sql.raw(part)),
        sql`${account}`,
      );

/** What a bill does to its wallet, in SQL. */
export type WalletMoves<Text> = {
  /** The part of the amount, without a fee that it contains. */
  readonly amount: Text;
  /** The part of the fee and of what a coupon paid, a fee inside the amount included. */
  readonly fee: Text;
  /** The amount and the fee. */
  readonly moved: Text;
};

/** In a unified account a balance that moves by the amount alone shows that the fee is inside it. */
export const feeInsideText = (bills: string): string => `(
    rule.counts_amount and not rule.counts_fee and ${bills}.product_type like 'UTA-%'
  )`;

/**
 * What bills do to their wallet, once {@link joinRulesText} has joined them to their rules. This is the one
 * definition: the view analytics.entries, reconcile and the exports are made with it.
 *
 * @param bills the alias of the bills.
 */
export function walletMovesText(bills: string): WalletMoves<string> {
  const amount = `case when rule.counts_amount then ${bills}.amount else 0 end`;
  const coupon = `case when rule.counts_coupon then coalesce(${bills}.fee_by_coupon, 0) else 0 end`;
  const isFeeInside = feeInsideText(bills);
  return {
    // Taking 0 away where no fee is inside took a tenth of the CPU of storing days.
    amount: `case when ${isFeeInside} then ${bills}.amount - ${bills}.fee else ${amount} end`,
    fee: `(case when rule.counts_fee or ${isFeeInside} then ${bills}.fee else 0 end + ${coupon})`,
    moved: `(${amount} + case when rule.counts_fee then ${bills}.fee else 0 end + ${coupon})`,
  };
}

/**
 * The same of the bills of a row of sums, by sign: see src/ledger/day-sums.ts.
 * @param days the alias of the sums.
 */
export function walletSumsText(days: string) {
  const isFeeInside = feeInsideText(days);
  const amount = (sign: "in" | "out") =>
    `case
      when ${isFeeInside} then ${days}.apart_${sign}
      when rule.counts_amount then ${days}.amount_${sign}
      else 0
    end`;
  const fee = (sign: "in" | "out") =>
    `case when rule.counts_fee or ${isFeeInside} then ${days}.fee_${sign} else 0 end`;
  const coupon = `case when rule.counts_coupon then ${days}.coupon else 0 end`;
  return {
    amountIn: amount("in"),
    amountOut: amount("out"),
    feeIn: fee("in"),
    /** Coupons are a part of the fees that they pay. */
    feeOut: `(${fee("out")} + ${coupon})`,
  };
}

export function walletMoves(bills: string): WalletMoves<SQL> {
  const { amount, fee, moved } = walletMovesText(bills);
  return { amount: sql.raw(amount), fee: sql.raw(fee), moved: sql.raw(moved) };
}
