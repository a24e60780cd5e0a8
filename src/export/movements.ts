/** The causes of a balance's change, in the order of all reports: columns of analytics.daily_rollforward. */
export const movements = [
  ["realised_pnl", "realised profit and loss"],
  ["trading_fees", "trading fees"],
  ["fee_rebates", "fee rebates"],
  ["funding_received", "funding received"],
  ["funding_paid", "funding paid"],
  ["liquidation", "liquidation"],
  ["transfers_in", "transfers in"],
  ["transfers_out", "transfers out"],
  ["bonus", "bonus"],
  ["copy", "copy trading"],
  ["delivery", "delivery"],
  ["margin", "margin moves"],
  ["interest", "interest"],
  ["conversion", "conversion"],
  ["spot", "coins bought and sold"],
  ["loan", "loans borrowed and repaid"],
  ["fees", "fees in rows of their own"],
  ["unmapped", "unmapped types"],
  ["closed_out", "closed, left behind"],
  ["rounding", "rounding"],
  ["difference", "unexplained"],
  ["unsettled", "not judged yet"],
] as const;

export type Movement = (typeof movements)[number][0];
