/** The kinds of ledger entries, by which reports group. */
export const categories = [
  "transfer",
  "trade",
  "liquidation",
  "funding",
  "margin",
  "bonus",
  "copy",
  "delivery",
  "interest",
  "conversion",
  "spot",
  "loan",
  "fee-bills",
  "deposit",
  "withdrawal",
  "unclassified",
] as const;

export type Category = (typeof categories)[number];

export const isCategory = (word: string): word is Category =>
  categories.some((category) => category === word);

export type BusinessType = {
  readonly code: string;
  readonly category: Category;
  readonly meaning: string;
  /** False: seen in answers of the exchange, but not in its documentation. */
  readonly documented: boolean;
};

const documented = (code: string, category: Category, meaning: string): BusinessType => ({
  code,
  category,
  meaning,
  documented: true,
});

const seen = (code: string, category: Category, meaning: string): BusinessType => ({
  code,
  category,
  meaning,
  documented: false,
});

/**
 * Every businessType in the v2 API's documentation, and the undocumented ones seen in public records
 * of its answers. The list is open: a value that is not in it is stored and counted like any other.
 */
export const businessTypes: readonly BusinessType[] = [
  documented("unknown", "unclassified", "unknown to the exchange"),
  documented("trans_from_exchange", "transfer", "transfer in from spot"),
  documented("trans_to_exchange", "transfer", "transfer out to spot"),
  documented("open_long", "trade", "long opened"),
  documented("open_short", "trade", "short opened"),
  documented("close_long", "trade", "long closed"),
  documented("close_short", "trade", "short closed"),
  documented("force_close_long", "liquidation", "long closed by force"),
  documented("force_close_short", "liquidation", "short closed by force"),
  documented("contract_settle_fee", "funding", "funding fee"),
  documented("append_margin", "margin", "margin adjusted"),
  documented("adjust_down_lever_append_margin", "margin", "margin added for a lower leverage"),
  documented("reduce_margin", "margin", "margin reduced"),
  documented("auto_append_margin", "margin", "margin added by automatic call"),
  documented("cash_gift_issue", "bonus", "coupon, gift or card issued"),
  documented("cash_gift_recycle", "bonus", "coupon, gift or card taken back"),
  documented("tracking_follow_pay", "copy", "payment of a follower in copy trading"),
  documented("tracking_follow_back", "copy", "cashback to a follower in copy trading"),
  documented("tracking_trader_income", "copy", "income of the trader who is copied"),
  documented("burst_long_loss_query", "liquidation", "long closed by liquidation"),
  documented("burst_short_loss_query", "liquidation", "short closed by liquidation"),
  documented("trans_from_contract", "transfer", "transfer in from futures"),
  documented("trans_to_contract", "transfer", "transfer out to futures"),
  documented("trans_from_otc", "transfer", "transfer in from OTC"),
  documented("trans_to_otc", "transfer", "transfer out to OTC"),
  documented("buy", "trade", "buy in one-way mode"),
  documented("sell", "trade", "sell in one-way mode"),
  documented("force_buy", "liquidation", "buy by force in one-way mode"),
  documented("force_sell", "liquidation", "sell by force in one-way mode"),
  documented("burst_buy", "liquidation", "buy by liquidation"),
  documented("burst_sell", "liquidation", "sell by liquidation"),
  documented("bonus_issue", "bonus", "bonus or coupon issued"),
  documented("bonus_recycle", "bonus", "bonus or coupon taken back"),
  documented("bonus_expired", "bonus", "bonus or coupon expired"),
  documented("delivery_long", "delivery", "delivery settlement of a long"),
  documented("delivery_short", "delivery", "delivery settlement of a short"),
  documented("trans_from_cross", "transfer", "transfer in from cross margin"),
  documented("trans_to_cross", "transfer", "transfer out to cross margin"),
  documented("trans_from_isolated", "transfer", "transfer in from isolated margin"),
  documented("trans_to_isolated", "transfer", "transfer out to isolated margin"),
  seen("trans_from_strategy", "transfer", "transfer in from a trading bot"),
  seen("trans_to_strategy", "transfer", "transfer out to a trading bot"),
  // The exchange's own spelling.
  seen("risk_captital_user_transfer", "liquidation", "remainder swept by the insurance fund"),
  seen("adl_close_long", "liquidation", "long closed by auto-deleveraging"),
  seen("adl_close_short", "liquidation", "short closed by auto-deleveraging"),
  seen("adl_buy_in_single_side_mode", "liquidation", "auto-deleveraging buy in one-way mode"),
  seen("adl_sell_in_single_side_mode", "liquidation", "auto-deleveraging sell in one-way mode"),
  seen("user_exchange_buy", "conversion", "coin bought by conversion"),
  seen("user_exchange_sell", "conversion", "coin sold by conversion"),
  seen("settle_interest", "interest", "interest settled"),
  seen("user_grants_issue", "bonus", "grant issued"),
  seen("user_grants_recycle", "bonus", "grant taken back"),
  seen("user_grid_profit_in", "unclassified", "profit of a grid bot, by its name"),
];

/** Types of the spot and the funding wallet: see {@link groupedType}. */
export const walletBusinessTypes: readonly BusinessType[] = [
  seen("transfer/transfer_in", "transfer", "transfer in from another wallet"),
  seen("transfer/transfer_out", "transfer", "transfer out to another wallet"),
  seen("deposit/deposit", "deposit", "deposit from outside"),
  seen("withdraw/withdraw", "withdrawal", "withdrawal to the outside"),
  seen("transaction/buy", "spot", "coin bought"),
  seen("transaction/sell", "spot", "coin sold"),
];

/** The groups of the spot and the funding wallet's bills. Source: the `groupType` of both operations. */
const groupCategories: ReadonlyMap<string, Category> = new Map([
  ["deposit", "deposit"],
  ["withdraw", "withdrawal"],
  ["transaction", "spot"],
  ["transfer", "transfer"],
  ["loan", "loan"],
  ["convert", "conversion"],
  ["trace", "copy"],
  // Coins bought or sold for money that no wallet holds. The exchange writes fait.
  ["fait", "spot"],
  ["c2c", "spot"],
  ["pre_c2c", "spot"],
]);

/** A wallet's type is its group and its name in it, such as `transfer/transfer_in`: names recur in other ledgers. */
export const groupedType = (group: string | null, name: string | null): string =>
  `${group ?? ""}/${name ?? ""}`;

/** The group and the name of a {@link groupedType}. */
export const groupAndName = (type: string): readonly [string, string] => {
  const at = type.indexOf("/");
  return [type.slice(0, at), type.slice(at + 1)];
};

/** The category of a type that is in no list: that of its group. */
export const categoryOfGroup = (type: string): Category =>
  (type.includes("/") && groupCategories.get(groupAndName(type)[0].toLowerCase())) ||
  "unclassified";

/** The types of nearly all bills: of trades and funding. An index holds the others. */
export const frequentTypes = [
  ...["open_long", "open_short", "close_long", "close_short", "buy", "sell", "contract_settle_fee"],
  ...["OPEN_LONG", "OPEN_SHORT", "CLOSE_LONG", "CLOSE_SHORT", "BUY_DEAL", "SELL_DEAL"],
  ...["CONTRACT_MAIN_SETTLE_FEE_USER_IN", "CONTRACT_MAIN_SETTLE_FEE_USER_OUT"],
  ...["ORDER_DEALT_IN", "ORDER_DEALT_FROZEN_OUT"],
] as const;

/** The API accepts a `coin` filter with these types only. */
export const coinFilterTypes = ["trans_from_exchange", "trans_to_exchange"] as const;

/** The types that `onlyFunding=yes` leaves out. Source: the API's parameter of that name. */
export const nonFinancialTypes = [
  "append_margin",
  "adjust_down_lever_append_margin",
  "reduce_margin",
  "auto_append_margin",
] as const;
