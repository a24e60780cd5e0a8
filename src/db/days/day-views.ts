import { frequentTypes } from "../../contract/business-types.ts";
import { bookedMaxText, chainOrderText, chainPlaceText } from "../sql/chain-order.ts";
import { readSqlFile } from "../sql/sql-file.ts";
import { apartText, productTypesText, unifiedArrayText, walletText } from "../sql/wallet.ts";
import { feeInsideText, joinRulesText, walletSumsText } from "../sql/wallet-moves.ts";

const sums = walletSumsText("days");

/** The kinds of breaks whose difference is how far one balance is off the bills before it. */
export const stepKindsText = "('chain', 'balance', 'duplicate', 'fee-sign', 'unread')";

/** Expressions that the files share. */
const words: Readonly<Record<string, string>> = {
  amount_apart: apartText("amount", "entries.product_type"),
  chain_order: chainOrderText(),
  days_booked_max: bookedMaxText("days.wallet"),
  days_product_types: productTypesText("days.wallet"),
  days_wallet: walletText("days.product_type"),
  entries_place: chainPlaceText("entries"),
  fee_apart: apartText("fee", "entries.product_type"),
  frequent_types: `array[${frequentTypes.map((code) => `'${code}'`).join(", ")}]`,
  is_fee_inside: feeInsideText("days"),
  join_day_rules: joinRulesText("days").trim(),
  step_kinds: stepKindsText,
  sum_amount_in: sums.amountIn,
  sum_amount_out: sums.amountOut,
  sum_fee_in: sums.feeIn,
  sum_fee_out: sums.feeOut,
};

const readText = (name: string, more: Readonly<Record<string, string>> = {}): string =>
  readSqlFile(`days/${name}`, { ...words, ...more });

/**
 * The views through which the views of `analytics` read days. They are not part of that schema:
 * each is of use only together with the others.
 */
export const dayViews = (): readonly { readonly name: string; readonly text: string }[] => [
  ...["chain_days", "contract_days", "chained_days", "known_entries"].map((name) => ({
    name,
    text: readText(name),
  })),
  { name: "classic_activity", text: readText("wallet_activity", classic) },
  { name: "unified_activity", text: readText("wallet_activity", unified) },
];

const classic = {
  name: "classic_activity",
  product_type: "known.wallet",
  product_types: "known.wallet",
  of_wallet: "known.wallet <> 'UTA'",
};

const unified = {
  name: "unified_activity",
  product_type: "bills.product_type",
  product_types: `any(${unifiedArrayText})`,
  of_wallet: "known.wallet = 'UTA'",
};
