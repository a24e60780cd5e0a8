import { type SQL, sql } from "drizzle-orm";
import { textArray } from "../../db/sql/array-literal.ts";
import { otherResults } from "./lines.ts";

// The figures of a contract, as expressions over rows of analytics.entries and analytics.activity.
// They match src/sql/days/dirty_symbol_days.sql, so that a figure links to exactly the bills that
// it counts. Only fees have more: a unified account pays some in rows of their own.

export type ContractPart = {
  /** The name in addresses. The prefix tells it from lines of the same name, such as "fees". */
  readonly name: `contract_${"profit" | "fees" | "funding" | "other" | "result"}`;
  readonly title: string;
  /** The expression for what a bill contributes. */
  readonly ofBill: SQL;
  /** The condition that a bill contributes something. */
  readonly isOfBill: SQL;
};

export type PartName = ContractPart["name"];

// A unified account's amount may contain its fee: wallet_amount is without it.
const amount = sql`(case when product_type like 'UTA-%' then wallet_amount else amount end)`;
const isProfit = sql`(category = 'trade' and ${amount} <> 0)`;
export const hasFee = sql`(fee <> 0 or fee_by_coupon <> 0)`;
const isFunding = sql`category = 'funding'`;
/** A row whose amount is earned or lost, other than profit and funding: see {@link otherResults}. */
export const isOwnResult = sql`(category = any(${textArray(otherResults)}::text[]) and wallet_amount <> 0)`;
/** Whether such a row is a fee. All others are liquidations, deliveries, bonuses and the like. */
export const isFeeRow = sql`category = 'fees'`;

export const contractParts: readonly ContractPart[] = [
  {
    name: "contract_profit",
    title: "Realised profit and loss",
    ofBill: amount,
    isOfBill: isProfit,
  },
  {
    name: "contract_fees",
    title: "Fees",
    ofBill: sql`case when ${isFeeRow} then wallet_amount else 0 end + fee`,
    isOfBill: sql`(${hasFee} or (${isOwnResult} and ${isFeeRow}))`,
  },
  { name: "contract_funding", title: "Funding", ofBill: amount, isOfBill: isFunding },
  {
    name: "contract_other",
    title: "Other",
    ofBill: sql`wallet_amount`,
    isOfBill: sql`(${isOwnResult} and not ${isFeeRow})`,
  },
  {
    name: "contract_result",
    title: "Result",
    // A bill that closes a position has both a profit and a fee.
    ofBill: sql`case
      when ${isProfit} or ${isFunding} then ${amount}
      when ${isOwnResult} then wallet_amount
      else 0
    end + fee`,
    isOfBill: sql`(${isProfit} or ${hasFee} or ${isFunding} or ${isOwnResult})`,
  },
];
