import { type SQL, sql } from "drizzle-orm";

// What a contract's figures are made of: over rows of analytics.entries and .activity, in the words of
// src/sql/days/dirty_symbol_days.sql, so that a figure's bills are those that it counts.

export type ContractPart = {
  /** As an address has it. There is a line "fees", too. */
  readonly name: `contract_${"profit" | "fees" | "funding" | "net"}`;
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
const hasFee = sql`(fee <> 0 or fee_by_coupon <> 0)`;
const isFunding = sql`category = 'funding'`;

export const contractParts: readonly ContractPart[] = [
  { name: "contract_profit", title: "Profit", ofBill: amount, isOfBill: isProfit },
  { name: "contract_fees", title: "Fees", ofBill: sql`fee`, isOfBill: hasFee },
  { name: "contract_funding", title: "Funding", ofBill: amount, isOfBill: isFunding },
  {
    name: "contract_net",
    title: "Profit, fees and funding",
    // One that closes a position has a profit and a fee.
    ofBill: sql`case when ${isProfit} or ${isFunding} then ${amount} else 0 end + fee`,
    isOfBill: sql`(${isProfit} or ${hasFee} or ${isFunding})`,
  },
];
