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
};

const type = (code: string, category: Category, meaning: string): BusinessType => ({
  code,
  category,
  meaning,
});

/**
 * Every businessType in the v2 API's documentation, and the undocumented ones seen in public records
 * of its answers. The list is open: a value that is not in it is stored and counted like any other.
 */
export const businessTypes: readonly BusinessType[] = [
  type("unknown", "unclassified", "unknown to the exchange"),
  type("trans_from_exchange", "transfer", "transfer in from spot"),
  type("trans_to_exchange", "transfer", "transfer out to spot"),
  type("open_long", "trade", "long opened"),
  type("open_short", "trade", "short opened"),
  type("close_long", "trade", "long closed"),
  type("close_short", "trade", "short closed"),
  type("force_close_long", "liquidation", "long closed by force"),
  type("force_close_short", "liquidation", "short closed by force"),
  type("contract_settle_fee", "funding", "funding fee"),
  type("append_margin", "margin", "margin adjusted"),
  type("adjust_down_lever_append_margin", "margin", "margin added for a lower leverage"),
  type("reduce_margin", "margin", "margin reduced"),
  type("auto_append_margin", "margin", "margin added by automatic call"),
  type("cash_gift_issue", "bonus", "coupon, gift or card issued"),
  type("cash_gift_recycle", "bonus", "coupon, gift or card taken back"),
  type("tracking_follow_pay", "copy", "payment of a follower in copy trading"),
  type("tracking_follow_back", "copy", "cashback to a follower in copy trading"),
  type("tracking_trader_income", "copy", "income of the trader who is copied"),
  type("burst_long_loss_query", "liquidation", "long closed by liquidation"),
  type("burst_short_loss_query", "liquidation", "short closed by liquidation"),
  type("trans_from_contract", "transfer", "transfer in from futures"),
  type("trans_to_contract", "transfer", "transfer out to futures"),
  type("trans_from_otc", "transfer", "transfer in from OTC"),
  type("trans_to_otc", "transfer", "transfer out to OTC"),
  type("buy", "trade", "buy in one-way mode"),
  type("sell", "trade", "sell in one-way mode"),
  type("force_buy", "liquidation", "buy by force in one-way mode"),
  type("force_sell", "liquidation", "sell by force in one-way mode"),
  type("burst_buy", "liquidation", "buy by liquidation"),
  type("burst_sell", "liquidation", "sell by liquidation"),
  type("bonus_issue", "bonus", "bonus or coupon issued"),
  type("bonus_recycle", "bonus", "bonus or coupon taken back"),
  type("bonus_expired", "bonus", "bonus or coupon expired"),
  type("delivery_long", "delivery", "delivery settlement of a long"),
  type("delivery_short", "delivery", "delivery settlement of a short"),
  type("trans_from_cross", "transfer", "transfer in from cross margin"),
  type("trans_to_cross", "transfer", "transfer out to cross margin"),
  type("trans_from_isolated", "transfer", "transfer in from isolated margin"),
  type("trans_to_isolated", "transfer", "transfer out to isolated margin"),
  // These are not in the documentation.
  type("trans_from_strategy", "transfer", "transfer in from a trading bot"),
  type("trans_to_strategy", "transfer", "transfer out to a trading bot"),
  // The exchange's own spelling.
  type("risk_captital_user_transfer", "liquidation", "remainder swept by the insurance fund"),
  type("adl_close_long", "liquidation", "long closed by auto-deleveraging"),
  type("adl_close_short", "liquidation", "short closed by auto-deleveraging"),
  type("adl_buy_in_single_side_mode", "liquidation", "auto-deleveraging buy in one-way mode"),
  type("adl_sell_in_single_side_mode", "liquidation", "auto-deleveraging sell in one-way mode"),
  type("user_exchange_buy", "conversion", "coin bought by conversion"),
  type("user_exchange_sell", "conversion", "coin sold by conversion"),
  type("settle_interest", "interest", "interest settled"),
  type("user_grants_issue", "bonus", "grant issued"),
  type("user_grants_recycle", "bonus", "grant taken back"),
  type("user_grid_profit_in", "unclassified", "profit of a grid bot, by its name"),
];

/** Types that classic tax records name. Bills may, too: older pages of the exchange list some of them among theirs. */
export const taxBusinessTypes: readonly BusinessType[] = [
  type("contract_main_settle_fee", "funding", "funding fee on crossed margin, an older name"),
  type("contract_margin_settle_fee", "funding", "funding fee on isolated margin, an older name"),
  type("buy_deal", "trade", "buy in one-way mode, in the words of tax records"),
  type("sell_deal", "trade", "sell in one-way mode, in the words of tax records"),
  type(
    "burst_close_long",
    "liquidation",
    "long closed by liquidation, in the words of tax records",
  ),
  type(
    "burst_close_short",
    "liquidation",
    "short closed by liquidation, in the words of tax records",
  ),
  type("burst_open_long", "liquidation", "long opened by liquidation, in the words of tax records"),
  type(
    "burst_open_short",
    "liquidation",
    "short opened by liquidation, in the words of tax records",
  ),
  type("transfer_from_future_copytrade", "transfer", "transfer in from copy trading"),
  type("transfer_to_future_copytrade", "transfer", "transfer out to copy trading"),
  type("transfer_in", "transfer", "transfer in"),
  type("transfer_out", "transfer", "transfer out"),
];

/** Types of the spot and the funding wallet: see {@link groupedType}. Others count by {@link categoryOfWalletType}. */
export const walletBusinessTypes: readonly BusinessType[] = [
  type("transfer/transfer_in", "transfer", "transfer in from another wallet"),
  type("transfer/transfer_out", "transfer", "transfer out to another wallet"),
  type("deposit/deposit", "deposit", "deposit from outside"),
  type("withdraw/withdraw", "withdrawal", "withdrawal to the outside"),
  // In a public answer: a unified account's withdrawal comes into its funding wallet before it leaves it.
  type("withdraw/", "transfer", "transfer in for a withdrawal"),
  type("transaction/buy", "spot", "coin bought"),
  type("transaction/sell", "spot", "coin sold"),
];

/** The groups of the spot and the funding wallet's bills. Source: the `groupType` of both operations. */
const groupCategories: ReadonlyMap<string, Category> = new Map([
  ["deposit", "deposit"],
  ["withdraw", "withdrawal"],
  ["transaction", "spot"],
  ["transfer", "transfer"],
  ["loan", "loan"],
  ["convert", "conversion"],
  ["strategy", "transfer"],
  ["trace", "copy"],
  // What unified accounts call MT5, BGPAY, ON_CHAIN and PAPTRADING transfers.
  ["cfd", "transfer"],
  ["pay", "transfer"],
  ["on_chain", "transfer"],
  ["paptrading", "transfer"],
  // Coins bought or sold for money that no wallet holds. The exchange writes fait.
  ["fait", "spot"],
  ["fiat", "spot"],
  ["c2c", "spot"],
  ["pre_c2c", "spot"],
  // Tokens of what is traded elsewhere, such as stocks.
  ["rwa", "spot"],
  ["stock", "spot"],
]);

/** A wallet's type is its group and its name in it, such as `transfer/transfer_in`: names recur in other ledgers. */
export const groupedType = (group: string | null, name: string | null): string =>
  `${group ?? ""}/${name ?? ""}`;

/** The group and the name of a {@link groupedType}. */
const groupAndName = (type: string): readonly [string, string] => {
  const at = type.indexOf("/");
  return [type.slice(0, at), type.slice(at + 1)];
};

/** A name as it is compared: names come in either case, and with other separators or none. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "");

/**
 * Names that tell more than their group, or have none: those of spot tax records. Source: the operations' pages, and public
 * clients and tax tools of real accounts.
 */
const nameCategories: ReadonlyMap<string, Category> = new Map(
  Object.entries({
    transfer: [
      // Also where the group is another one, as in the exchange's own example.
      ...["transfer_in", "transfer_out"],
      // The principal of earn products: fixed terms, flexible ones, pools, dual investment.
      ...["financial_lock_out", "financial_unlock_in", "financial_pos_out", "financial_user_out"],
      ...["financial_subs_out", "financial_rede_in", "poolx_sub_out", "poolx_redem_in"],
      ...["financial_dual_user_freezing_out", "lock_release_user_in", "subscribe", "redemption"],
      // That of trading bots and of copy trading.
      ...["automatic_deposit", "automatic_withdrawal"],
      ...["opening_of_trading_bot_position", "closing_of_trading_bot_position"],
      ...["trace_transfer_user_in", "trace_transfer_user_out", "trace_transfer_refund_in"],
      ...["trace_lock_user_in", "trace_lock_user_out"],
      // Coins that are held back stay the owner's.
      ...["system_lock", "user_lock", "system_lock_up", "user_lock_up", "unlock_locked_order"],
      ...["manage_background_lock_positions", "the_locked_order_is_returned_to_the_system"],
      ...["withdrawal_frozen", "withdrawal_unfreeze", "delegate", "undelegate", "financial"],
    ],
    // What a coin that bears interest pays is a position's profit.
    interest: ["interest", "batch_interest_user_in", "dividend", "position_profit"],
    bonus: [
      ...["airdrop_rewards", "airdrop_reward_a", "airdrop_reward_b", "rebate_rewards", "reward"],
      ...["usdt_contract_rewards", "mix_contract_rewards", "lotto_rewards", "activity_issuance"],
      ...["channel_referral_rewards", "crypto_voucher_distribution", "trading_fee_rebate"],
      ...["rebate_coupon_activity_user_in", "activity_asset_reward_user_in"],
    ],
    copy: [
      ...["copy_trade_expense", "copy_trade_profit", "refund_copy_trade_commission"],
      ...["subscribe_to_trader_user_accounts", "subscription_fee_refund_user_account"],
    ],
    "fee-bills": ["user_fees", "system_charges_fees", "fast_withdrawal_fee"],
    deposit: [
      ...["deposit", "fiat_deposit", "fiat_recharge_in", "fiat_balance_success_user_in"],
      ...["fiat_bank_transfer_deposit_success_user_in_v2", "deposit_credited"],
      // From another user of the exchange.
      "inner_address_withdraw_in",
    ],
    withdrawal: ["withdraw", "fiat_withdrawal_success_deduct", "fiat_balance_user_out"],
    conversion: [
      ...["order_exchange_in", "order_exchange_out"],
      ...["small_exchange_user_in", "small_exchange_user_out"],
      ...["gains", "consumption", "increase_exchange_rate", "reduce_exchange_rate"],
    ],
    spot: ["buy_with_card", "fiat", "fiat_balance_buy_or_sell_user_out"],
    loan: ["repayment"],
  } satisfies Partial<Record<Category, readonly string[]>>).flatMap(([category, names]) =>
    names.map((name) => [plain(name), category as Category] as const),
  ),
);

/** The category of a wallet's type that is in no list: that of its name, else that of its group. */
export function categoryOfWalletType(type: string): Category {
  if (!type.includes("/")) return "unclassified";
  const [group, name] = groupAndName(type.toLowerCase());
  return nameCategories.get(plain(name)) ?? groupCategories.get(group) ?? "unclassified";
}

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
