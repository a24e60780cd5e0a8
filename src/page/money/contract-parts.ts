import { type SQL, sql } from "drizzle-orm";
import { textArray } from "../../db/sql/array-literal.ts";
import { otherResults } from "./lines.ts";

// What a contract's figures are made of: over rows of analytics.entries and .activity, in the words of
// src/sql/days/dirty_symbol_days.sql, so that a figure's bills are those that it counts.

export type ContractPart = {
  /** As an address has it. There is a line "fees", too. */
  readonly name: `contract_${"profit" | "fees" | "funding" | "other" | "result"}`;
  readonly title: string;
  /** What a bill has of it. */
  readonly ofBill: SQL;
  /** The condition that a bill has some of it. */
  readonly isOfBill: SQL;
};

export type PartName = ContractPart["name"];

// Without the fee that a unified account's amount may contain.
const amount = sql`(case when product_type like 'UTA-%' then wallet_amount else amount end)`;
const isProfit = sql`(category = 'trade' and ${amount} <> 0)`;
export const hasFee = sql`(fee <> 0 or fee_by_coupon <> 0)`;
const isFunding = sql`category = 'funding'`;
/** What is earned or lost otherwise: liquidations, deliveries, bonuses and the like. */
export const isOther = sql`(category = any(${textArray(otherResults)}::text[]) and wallet_amount <> 0)`;

export const contractParts: readonly ContractPart[] = [
  { name: "contract_profit", title: "Profit", ofBill: amount, isOfBill: isProfit },
  { name: "contract_fees", title: "Fees", ofBill: sql`fee`, isOfBill: hasFee },
  { name: "contract_funding", title: "Funding", ofBill: amount, isOfBill: isFunding },
  { name: "contract_other", title: "Other", ofBill: sql`wallet_amount`, isOfBill: isOther },
  {
    name: "contract_result",
    title: "Result",
    // One that closes a position has a profit and a fee.
    ofBill: sql`case
      when ${isProfit} or ${isFunding} then ${amount}
      when ${isOther} then wallet_amount
      else 0
    end + fee`,
    isOfBill: sql`(${isProfit} or ${hasFee} or ${isFunding} or ${isOther})`,
  },
];
