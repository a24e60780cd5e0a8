import { type SQL, sql } from "drizzle-orm";
import type { Category } from "../../contract/business-types.ts";

/** Which of a bill's numbers its balance moves by. `reconcile` learns it of each category and type. */
export type WalletRule = {
  readonly countsAmount: boolean;
  readonly countsFee: boolean;
  readonly countsCoupon: boolean;
};

export const amountAndFee: WalletRule = {
  countsAmount: true,
  countsFee: true,
  countsCoupon: false,
};
export const amountAlone: WalletRule = {
  countsAmount: true,
  countsFee: false,
  countsCoupon: false,
};
export const nothing: WalletRule = { countsAmount: false, countsFee: false, countsCoupon: false };

// A margin move stays within the account, and the amount of a spot trade contains its fee.
const exceptions = new Map<string, WalletRule>([
  ["margin" satisfies Category, nothing],
  ["spot" satisfies Category, amountAlone],
]);

/** What a category's bills are expected to move their balance by, until `reconcile` has learned it. */
export const expectedRule = (category: string): WalletRule =>
  exceptions.get(category) ?? amountAndFee;

/** The same in SQL, of the category in this column. A coupon is not expected to count. */
export const expectedRuleOf = (category: string) => ({
  countsAmount: isNoneOf(category, ({ countsAmount }) => !countsAmount),
  countsFee: isNoneOf(category, ({ countsFee }) => !countsFee),
});

/** @returns SQL that is true of a category that is null. */
function isNoneOf(column: string, isMeant: (rule: WalletRule) => boolean): SQL {
  const categories = [...exceptions].filter(([, rule]) => isMeant(rule)).map(([name]) => name);
  const list = categories.map((name) => `'${name}'`).join(", ");
  return sql.raw(`coalesce(${column} not in (${list}), true)`);
}
