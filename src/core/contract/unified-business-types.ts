import {
  type BusinessType,
  businessTypes,
  type Category,
  taxBusinessTypes,
  walletBusinessTypes,
} from "./business-types.ts";

/**
 * Every `type` of the v3 financial records, by category. The category is derived from the type's name, in
 * which FIXED means isolated margin, SSM one-way mode, RWA a contract on a real-world asset, and SYS or
 * SYSTEM the exchange's side. The suffixes IN and OUT are not reliable: the sign of `amount` decides.
 */
const meanings: readonly (readonly [Category, Readonly<Record<string, string>>])[] = [
  [
    "spot",
    {
      ORDER_DEALT_IN: "coin received in a spot trade",
      ORDER_DEALT_FROZEN_OUT: "coin given in a spot trade, from what the order held back",
    },
  ],
  [
    "trade",
    {
      OPEN_LONG: "long opened",
      OPEN_SHORT: "short opened",
      MARGIN_OPEN_LONG: "long opened on margin",
      MARGIN_OPEN_SHORT: "short opened on margin",
      FIXED_OPEN_LONG: "long opened on isolated margin",
      FIXED_OPEN_SHORT: "short opened on isolated margin",
      CLOSE_LONG: "long closed",
      CLOSE_SHORT: "short closed",
      FIXED_CLOSE_LONG: "long closed on isolated margin",
      FIXED_CLOSE_SHORT: "short closed on isolated margin",
      BUY_DEAL: "buy in one-way mode",
      SELL_DEAL: "sell in one-way mode",
      FIXED_BUY_DEAL: "buy in one-way mode on isolated margin",
      FIXED_SELL_DEAL: "sell in one-way mode on isolated margin",
      // The exchange's own spelling.
      MARIN_BUY_DEAL: "buy in one-way mode on margin",
      MARIN_SELL_DEAL: "sell in one-way mode on margin",
      MARGIN_OFFSET_IN_SSM_LONG: "long offset in one-way mode on margin",
      MARGIN_OFFSET_IN_SSM_SHORT: "short offset in one-way mode on margin",
      FIXED_OFFSET_IN_SSM_LONG: "long offset in one-way mode on isolated margin",
      FIXED_OFFSET_IN_SSM_SHORT: "short offset in one-way mode on isolated margin",
      FIXED_REDUCE_ONLY_OFFSET_IN_SSM_LONG: "long offset by a reduce-only order on isolated margin",
      FIXED_REDUCE_ONLY_OFFSET_IN_SSM_SHORT:
        "short offset by a reduce-only order on isolated margin",
      RWA_CONTRACT_REBASE_USER_OPEN_LONG: "long opened by a rebase of a real-world asset",
      RWA_CONTRACT_REBASE_USER_OPEN_SHORT: "short opened by a rebase of a real-world asset",
      RWA_CONTRACT_REBASE_USER_CLOSE_LONG: "long closed by a rebase of a real-world asset",
      RWA_CONTRACT_REBASE_USER_CLOSE_SHORT: "short closed by a rebase of a real-world asset",
      RWA_CONTRACT_REBASE_USER_BUY_IN_SSM: "buy by a rebase of a real-world asset in one-way mode",
      RWA_CONTRACT_REBASE_USER_SELL_IN_SSM:
        "sell by a rebase of a real-world asset in one-way mode",
    },
  ],
  [
    "funding",
    {
      CONTRACT_MAIN_SETTLE_FEE_USER_IN: "funding fee received",
      CONTRACT_MAIN_SETTLE_FEE_USER_OUT: "funding fee paid",
      RWA_CONTRACT_MAIN_SETTLE_FEE_USER_IN: "funding fee of a real-world asset received",
      RWA_CONTRACT_MAIN_SETTLE_FEE_USER_OUT: "funding fee of a real-world asset paid",
      MARGIN_SETTLE_FEE_USER_IN: "funding fee on margin received",
      MARGIN_SETTLE_FEE_USER_OUT: "funding fee on margin paid",
      RWA_CROSS_SETTLE_FEE_USER_IN: "dividend of a real-world asset received, crossed margin",
      RWA_CROSS_SETTLE_FEE_USER_OUT: "dividend of a real-world asset paid, crossed margin",
      RWA_FIXED_SETTLE_FEE_USER_IN: "dividend of a real-world asset received, isolated margin",
      RWA_FIXED_SETTLE_FEE_USER_OUT: "dividend of a real-world asset paid, isolated margin",
      RWA_CONTRACT_MAIN_SETTLE_FEE_SYSTEM_IN: "dividend of a real-world asset, exchange's side, in",
      RWA_CONTRACT_MAIN_SETTLE_FEE_SYSTEM_OUT:
        "dividend of a real-world asset, exchange's side, out",
      RWA_CONTRACT_MAIN_SETTLE_FEE_SYSTEM_KEEP_IN: "dividend that the exchange keeps, in",
      RWA_CONTRACT_MAIN_SETTLE_FEE_SYSTEM_KEEP_OUT: "dividend that the exchange keeps, out",
    },
  ],
  [
    "liquidation",
    {
      FORCE_CLOSE_LONG: "long closed by force",
      FORCE_CLOSE_SHORT: "short closed by force",
      FORCE_BUY_SSM: "buy by force in one-way mode",
      FORCE_SELL_SSM: "sell by force in one-way mode",
      BURST_CLOSE_LONG: "long closed by liquidation",
      BURST_CLOSE_SHORT: "short closed by liquidation",
      BURST_BUY_SSM: "buy by liquidation in one-way mode",
      BURST_SELL_SSM: "sell by liquidation in one-way mode",
      FIXED_FORCE_CLOSE_LONG: "long closed by force on isolated margin",
      FIXED_FORCE_CLOSE_SHORT: "short closed by force on isolated margin",
      FIXED_FORCE_BUY_SSM: "buy by force in one-way mode on isolated margin",
      FIXED_FORCE_SELL_SSM: "sell by force in one-way mode on isolated margin",
      FIXED_BURST_CLOSE_LONG: "long closed by liquidation on isolated margin",
      FIXED_BURST_CLOSE_SHORT: "short closed by liquidation on isolated margin",
      FIXED_BURST_BUY_SSM: "buy by liquidation in one-way mode on isolated margin",
      FIXED_BURST_SELL_SSM: "sell by liquidation in one-way mode on isolated margin",
      OFFSET_REDUCE_CLOSE_LONG: "long closed against an opposite position",
      OFFSET_REDUCE_CLOSE_SHORT: "short closed against an opposite position",
      FIXED_ADL_CLOSE_LONG: "long closed by auto-deleveraging on isolated margin",
      FIXED_ADL_CLOSE_SHORT: "short closed by auto-deleveraging on isolated margin",
      RISK_LIQ_USER_IN: "paid by the insurance fund after a liquidation",
      RISK_LIQ_DEFAULT_USER_IN: "loss of a default covered by the insurance fund",
      RISK_LIQ_USER_OUT: "remainder swept by the insurance fund",
      FIXED_RISK_LIQ_USER_IN: "paid by the insurance fund, isolated margin",
      FIXED_RISK_LIQ_DEFAULT_USER_IN:
        "loss of a default covered by the insurance fund, isolated margin",
      FIXED_RISK_LIQ_USER_OUT: "remainder swept by the insurance fund, isolated margin",
      LIQ_FUND_IN: "liquidation fund, in",
      LIQ_FUND_OUT: "liquidation fund, out",
      LIQ_TRANSFER_IN: "transfer of a liquidation, in",
      LIQ_TRANSFER_OUT: "transfer of a liquidation, out",
      LIQ_CONVERT_USER_IN: "coin received by a liquidation's conversion",
      LIQ_CONVERT_USER_OUT: "coin given in a liquidation's conversion",
      LIQ_CONVERT_SYS_IN: "liquidation's conversion, exchange's side, in",
      LIQ_CONVERT_SYS_OUT: "liquidation's conversion, exchange's side, out",
      LIQ_FEE: "liquidation fee",
      LIQ_REPAYMENT: "loan repaid by a liquidation",
      CONFISCATE_TOKEN_USER_OUT: "coin confiscated",
      CONFISCATE_TOKEN_SYS_IN: "coin confiscated, exchange's side",
    },
  ],
  [
    "delivery",
    {
      DELIVERY_LONG: "delivery settlement of a long",
      DELIVERY_SHORT: "delivery settlement of a short",
      FIXED_DELIVERY_LONG: "delivery settlement of a long on isolated margin",
      FIXED_DELIVERY_SHORT: "delivery settlement of a short on isolated margin",
    },
  ],
  [
    "transfer",
    {
      TRANSFER_IN: "transfer in",
      TRANSFER_OUT: "transfer out",
      RESERVE_TRANSFER_IN: "transfer in from a reserve",
      RESERVE_TRANSFER_OUT: "transfer out to a reserve",
      FINANCIAL_TRANSFER_IN: "transfer in from a savings product",
      FINANCIAL_TRANSFER_OUT: "transfer out to a savings product",
      CONVERT_TRANSFER_IN: "transfer in for a conversion",
      CONVERT_TRANSFER_OUT: "transfer out for a conversion",
      WITHDRAW_TRANSFER_IN: "transfer in of a withdrawal",
      WITHDRAW_TRANSFER_OUT: "transfer out for a withdrawal",
      MT5_TRANSFER_IN: "transfer in from MT5",
      MT5_TRANSFER_OUT: "transfer out to MT5",
      MT5_REFUND_IN: "transfer to MT5 refunded",
      ON_CHAIN_TRANSFER_OUT: "transfer out to a blockchain",
      ON_CHAIN_TRANSFER_REFUND: "transfer to a blockchain refunded",
      BGPAY_TRANSFER_OUT: "payment out of the account",
      BGPAY_REFUND_IN: "payment refunded",
      PAPTRADING_USER_IN: "demo money in",
      PAPTRADING_USER_OUT: "demo money out",
    },
  ],
  [
    "loan",
    {
      BORROW: "principal of a loan borrowed",
      REPAYMENT: "principal of a loan repaid",
    },
  ],
  [
    "fee-bills",
    {
      ORDER_PLF_FEE_OUT: "fee of an order, paid in the platform's coin",
      SMALL_ASSET_FEE_SYS_IN: "fee of converting a small balance",
    },
  ],
  [
    "bonus",
    {
      BONUS_GRANT_USER_IN: "bonus granted",
      BONUS_EXPIRE_USER_OUT: "bonus expired",
      BONUS_TRANSFER_USER_OUT: "bonus taken back",
    },
  ],
  // The principal of copy trading, not its result.
  [
    "transfer",
    {
      TRACE_TRANSFER_USER_IN: "transfer in for copy trading",
      TRACE_TRANSFER_USER_OUT: "transfer out for copy trading",
      TRACE_TRANSFER_REFUND_IN: "transfer for copy trading refunded",
      TRACE_LOCK_USER_IN: "released from copy trading",
      TRACE_LOCK_USER_OUT: "locked for copy trading",
    },
  ],
  [
    "copy",
    {
      TRACE_SHARE_BENEFIT_USER_IN: "share of a copy-trading profit received",
      TRACE_SHARE_BENEFIT_USER_OUT: "share of a copy-trading profit paid",
      TRACE_SHARE_BENEFIT_SYSTEM_IN: "share of a copy-trading profit, exchange's side, in",
      TRACE_SHARE_BENEFIT_SYSTEM_OUT: "share of a copy-trading profit, exchange's side, out",
    },
  ],
  [
    "interest",
    {
      INTEREST_SETTLEMENT_OUT: "interest settled",
      INTEREST_REPAYMENT: "interest repaid",
    },
  ],
  [
    "conversion",
    {
      EXCHANGE_SOURCE_TOKEN_USER_OUT: "coin given in a conversion",
      EXCHANGE_TARGET_TOKEN_USER_IN: "coin received in a conversion",
      CONVERSION_UPON_DELISTING: "conversion of a delisted coin",
      DELIST_MARGIN_TOKEN_SOURCE_USER_OUT: "delisted margin coin given",
      DELIST_MARGIN_TOKEN_SOURCE_SYS_IN: "delisted margin coin given, exchange's side",
      DELIST_MARGIN_TOKEN_TARGET_USER_IN: "coin received for a delisted margin coin",
      DELIST_MARGIN_TOKEN_TARGET_SYS_OUT:
        "coin received for a delisted margin coin, exchange's side",
      DELIST_SMALL_BALANCE_USER_OUT: "small balance of a delisted coin given",
      DELIST_SMALL_BALANCE_SYS_IN: "small balance of a delisted coin given, exchange's side",
      DELIST_SMALL_LIABILITY_USER_IN: "small debt of a delisted coin cleared",
      DELIST_SMALL_LIABILITY_SYS_OUT: "small debt of a delisted coin cleared, exchange's side",
      SMALL_ASSET_SOURCE_TOKEN_USER_OUT: "small balance given in a conversion",
      SMALL_ASSET_SOURCE_TOKEN_SYS_IN: "small balance given in a conversion, exchange's side",
      SMALL_ASSET_TARGET_TOKEN_USER_IN: "coin received for small balances",
      SMALL_ASSET_TARGET_TOKEN_SYS_OUT: "coin received for small balances, exchange's side",
      REBASE_COIN_SPLIT_IN: "coins received in a split",
      REBASE_COIN_SPLIT_OUT: "coins given in a split",
      REBASE_COIN_MERGE_IN: "coins received in a merge",
      REBASE_COIN_MERGE_OUT: "coins given in a merge",
    },
  ],
  [
    "margin",
    {
      INCREASE_MARGIN: "margin added",
      REDUCE_MARGIN: "margin reduced",
      FIXED_INCREASE_MARGIN: "isolated margin added",
      FIXED_REDUCE_MARGIN: "isolated margin reduced",
      MARGIN_BACK: "margin returned",
      MARGIN_LEVER_POS_IN: "margin moved into a position",
      FIXED_BACK: "isolated margin returned",
      FIXED_LEVER_POS_IN: "isolated margin moved into a position",
      MARGIN_LEVER_ORDER_FROZEN: "margin held back for an order",
      MARGIN_LEVER_ORDER_REFROZEN: "margin held back for an order anew",
      FIXED_ORDER_PLACE_FROZEN: "isolated margin held back for an order",
      FIXED_ORDER_FROZEN_RETURN: "isolated margin of an order returned",
    },
  ],
];

/** Types of older lists and of tax records. */
const olderMeanings: typeof meanings = [
  [
    "funding",
    {
      FIXED_SETTLE_FEE_USER_IN: "funding fee on isolated margin received",
      FIXED_SETTLE_FEE_USER_OUT: "funding fee on isolated margin paid",
    },
  ],
  [
    "liquidation",
    {
      ADL_CLOSE_LONG: "long closed by auto-deleveraging",
      ADL_CLOSE_SHORT: "short closed by auto-deleveraging",
      ADL_BUY_IN_SINGLE_SIDE_MODE: "auto-deleveraging buy in one-way mode",
      ADL_SELL_IN_SINGLE_SIDE_MODE: "auto-deleveraging sell in one-way mode",
      RISK_TARGET_USER_IN: "coin received in a conversion that a risk control forced",
      RISK_SOURCE_USER_OUT: "coin given in a conversion that a risk control forced",
      LIQ_CONVERT_IN: "liquidation's conversion, in",
      LIQ_CONVERT_OUT: "liquidation's conversion, out",
    },
  ],
  [
    "transfer",
    {
      SYSTEM_TRANSFER_IN: "transfer in by the exchange",
      SYSTEM_TRANSFER_OUT: "transfer out by the exchange",
    },
  ],
  [
    "loan",
    {
      INS_LOAN_DISBURSE_USER_IN: "institutional loan paid out",
      INS_LOAN_DISBURSE_RESERVE_USER_OUT: "reserve of an institutional loan, out",
      INS_LOAN_REPAY_POOL_USER_OUT: "institutional loan repaid",
      INS_LOAN_REPAY_INTEREST_USER_OUT: "interest of an institutional loan repaid",
      INS_LOAN_REPAY_RESERVE_USER_IN: "reserve of an institutional loan, in",
      INS_LOAN_REPAY_FUND_USER_IN: "paid by a fund towards an institutional loan",
      INS_LOAN_EXCHANGE_USER_IN: "coin received in a conversion for an institutional loan",
      INS_LOAN_EXCHANGE_USER_OUT: "coin given in a conversion for an institutional loan",
      INS_LOAN_TRANSFER_USER_IN: "transfer of an institutional loan, in",
      INS_LOAN_TRANSFER_USER_OUT: "transfer of an institutional loan, out",
      INS_LOAN_REPAY_FEE_USER_OUT: "fee of an institutional loan's repayment",
      INS_LOAN_REPAY_NON_MARGIN_USER_OUT: "institutional loan repaid from outside the margin",
    },
  ],
  [
    "conversion",
    {
      REPAY_SOURCE_USER_OUT: "coin given in a conversion that repays a debt",
      REPAY_TARGET_USER_IN: "coin received in a conversion that repays a debt",
    },
  ],
];

const typesOf = (list: typeof meanings): readonly BusinessType[] =>
  list.flatMap(([category, types]) =>
    Object.entries(types).map(([code, meaning]) => ({ code, category, meaning })),
  );

/** The business types of unified accounts. Source: the v3 documentation as of 23 September 2026. */
export const unifiedBusinessTypes: readonly BusinessType[] = typesOf(meanings);

/** All business types that this program lists, for classic and for unified accounts, and for the wallets beside them. */
export const listedBusinessTypes: readonly BusinessType[] = [
  ...businessTypes,
  ...taxBusinessTypes,
  ...unifiedBusinessTypes,
  ...typesOf(olderMeanings),
  ...walletBusinessTypes,
];
