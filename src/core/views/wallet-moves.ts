import { type SQL, sql } from "drizzle-orm";
import type { Category } from "../contract/business-types.ts";
import { fundingWallet, spotWallet, unifiedProductTypes } from "../contract/product-types.ts";

/**
 * `walletOf` of src/core/contract/product-types.ts in SQL. Returns a wallet unchanged.
 * @param productType a column.
 */
export const walletColumn = (productType: string): SQL =>
  sql.raw(`(case when ${isUnifiedText(productType)} then 'UTA' else ${productType} end)`);

/** `isUnified` of src/core/contract/product-types.ts in SQL, of a column. */
const isUnifiedText = (productType: string): string =>
  `(${productType} like 'UTA-%' and ${productType} <> '${fundingWallet}')`;

/** `mayContainFee` of src/core/contract/product-types.ts in SQL, of a column. */
export const mayContainFeeText = (productType: string): string =>
  `(${isUnifiedText(productType)} or ${productType} = '${spotWallet}')`;

/**
 * A bill's amount or fee in analytics.entries, so that no fee is in both: a unified account's `amount` may
 * contain its fee, and its `wallet_amount` does not.
 */
export const apart = (column: "amount" | "fee", productType: string): SQL =>
  sql.raw(`(case when ${mayContainFeeText(productType)} then wallet_${column} else ${column} end)`);

/** The product types that share a unified account's one wallet, as an array. */
export const unifiedArray: SQL = sql.raw(
  `array[${unifiedProductTypes.map((name) => `'${name}'`).join(", ")}]`,
);

/**
 * The product types that share a wallet, as an array. Looks bills up through an index that begins with
 * their product type.
 * @param wallet a column.
 */
export const productTypesArray = (wallet: string): SQL =>
  sql`(case when ${sql.raw(wallet)} = 'UTA' then ${unifiedArray} else array[${sql.raw(wallet)}] end)`;

/** Which of a bill's numbers its balance moves by. `reconcile` learns it of each category and type. */
export type WalletRule = {
  readonly countsAmount: boolean;
  readonly countsFee: boolean;
  readonly countsCoupon: boolean;
};

export const ruleOf = (
  countsAmount: boolean,
  countsFee: boolean,
  countsCoupon = false,
): WalletRule => ({ countsAmount, countsFee, countsCoupon });

export const amountAndFee = ruleOf(true, true);
export const amountAlone = ruleOf(true, false);
export const nothing = ruleOf(false, false);

// A margin move stays within the account, and the amount of a spot trade contains its fee.
const exceptions = new Map<string, WalletRule>([
  ["margin" satisfies Category, nothing],
  ["spot" satisfies Category, amountAlone],
]);

/** What a category's bills are expected to move their balance by, until `reconcile` has learned it. */
export const expectedRule = (category: string): WalletRule =>
  exceptions.get(category) ?? amountAndFee;

/** Whether a category is expected to count this number, in SQL. True of a category that is null. */
const isExpected = (name: "countsAmount" | "countsFee"): SQL => {
  const others = [...exceptions].flatMap(([category, rule]) =>
    rule[name] ? [] : [`'${category}'`],
  );
  return sql.raw(`coalesce(business_types.category not in (${others.join(", ")}), true)`);
};

/**
 * Joins bills to their category and, as `rule`, to what they move: what was learned of their type, else what was
 * learned of their category, else what is expected of it.
 *
 * @param alias of the bills.
 */
export function joinRules(alias: string): SQL {
  const bills = sql.raw(alias);
  return sql`left join business_types
        on business_types.code = ${bills}.business_type
      left join wallet_rules as category_rules
        on category_rules.account = ${bills}.account
        and category_rules.product_type = ${bills}.product_type
        and category_rules.category = business_types.category
        and category_rules.business_type = ''
      left join wallet_rules as type_rules
        on type_rules.account = ${bills}.account
        and type_rules.product_type = ${bills}.product_type
        and type_rules.business_type = ${bills}.business_type
      cross join lateral (
        select
          coalesce(
            type_rules.counts_amount,
            category_rules.counts_amount,
            ${isExpected("countsAmount")}
          ) as counts_amount,
          coalesce(
            type_rules.counts_fee,
            category_rules.counts_fee,
            ${isExpected("countsFee")}
          ) as counts_fee,
          coalesce(type_rules.counts_coupon, category_rules.counts_coupon, false) as counts_coupon,
          coalesce(type_rules.is_testable, category_rules.is_testable, true) as is_testable
      ) as rule`;
}

/** In a unified account and in the spot wallet, a balance that moves by the amount alone shows that the fee is inside it. */
const isFeeInside = (bills: string): SQL =>
  sql.raw(`(
    rule.counts_amount and not rule.counts_fee and ${mayContainFeeText(`${bills}.product_type`)}
  )`);

/**
 * What bills do to their wallet, once {@link joinRules} has joined them to their rules. This is the one
 * definition: the view analytics.entries and the exports are made with it. `amount` is the part of the amount,
 * without a fee that it contains; `fee` that of the fee and of what a coupon paid, a fee inside the amount included.
 *
 * @param alias of the bills.
 */
export function walletMoves(alias: string): { readonly amount: SQL; readonly fee: SQL } {
  const bills = sql.raw(alias);
  const isInside = isFeeInside(alias);
  return {
    // Taking 0 away where no fee is inside took a tenth of the CPU of storing days.
    amount: sql`case
      when ${isInside} then ${bills}.amount - ${bills}.fee
      when rule.counts_amount then ${bills}.amount
      else 0
    end`,
    fee: sql`(
      case when rule.counts_fee or ${isInside} then ${bills}.fee else 0 end
        + case when rule.counts_coupon then coalesce(${bills}.fee_by_coupon, 0) else 0 end
    )`,
  };
}

/**
 * The same of a row of sums of bills, by sign: see bill-sums.ts.
 * @param alias of the sums.
 */
export function walletSums(alias: string) {
  const days = sql.raw(alias);
  const isInside = isFeeInside(alias);
  const amount = (sign: "in" | "out") =>
    sql`case
      when ${isInside} then ${days}.${sql.raw(`gross_${sign}`)}
      when rule.counts_amount then ${days}.${sql.raw(`amount_${sign}`)}
      else 0
    end`;
  const fee = (sign: "in" | "out") =>
    sql`case when rule.counts_fee or ${isInside} then ${days}.${sql.raw(`fee_${sign}`)} else 0 end`;
  return {
    amountIn: amount("in"),
    amountOut: amount("out"),
    feeIn: fee("in"),
    /** Coupons are a part of the fees that they pay. */
    feeOut: sql`(${fee("out")} + case when rule.counts_coupon then ${days}.coupon else 0 end)`,
  };
}
