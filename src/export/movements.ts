import type { Category } from "../contract/business-types.ts";

/** The causes of a balance's change, in the order of all reports: columns of analytics.daily_rollforward. What is a result comes first. */
export const movements = [
  ["realised_pnl", "realised profit and loss"],
  ["trading_fees", "trading fees"],
  ["fee_rebates", "fee rebates"],
  ["fees", "fees in rows of their own"],
  ["funding_received", "funding received"],
  ["funding_paid", "funding paid"],
  ["liquidation", "liquidation"],
  ["delivery", "delivery"],
  ["bonus", "bonus"],
  ["copy", "copy trading"],
  ["interest", "interest"],
  ["unmapped", "unclassified"],
  ["transfers_in", "transfers in"],
  ["transfers_out", "transfers out"],
  ["deposits", "deposits"],
  ["withdrawals", "withdrawals"],
  ["margin", "margin moves"],
  ["conversion", "conversion"],
  ["spot", "coins bought and sold"],
  ["loan", "loans borrowed and repaid"],
  ["closed_out", "closed, left behind"],
  ["rounding", "rounding"],
  ["difference", "unexplained"],
  ["unsettled", "not judged yet"],
] as const;

export type Movement = (typeof movements)[number][0];

/** The columns of an amount that came in and of one that went out, where they are not the category's name. */
const columns: Readonly<Record<Exclude<Category, Movement>, readonly [Movement, Movement]>> = {
  trade: ["realised_pnl", "realised_pnl"],
  funding: ["funding_received", "funding_paid"],
  transfer: ["transfers_in", "transfers_out"],
  deposit: ["deposits", "deposits"],
  withdrawal: ["withdrawals", "withdrawals"],
  unknown: ["unmapped", "unmapped"],
};

/** The column of an amount, as src/sql/days/chain_days.sql has it. */
export const movementOf = (category: Category, isGain: boolean): Movement =>
  category in columns
    ? columns[category as keyof typeof columns][isGain ? 0 : 1]
    : (category as Category & Movement);

export const feeMovementOf = (isGain: boolean): Movement =>
  isGain ? "fee_rebates" : "trading_fees";
