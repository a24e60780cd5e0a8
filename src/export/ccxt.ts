import type { Category } from "../contract/business-types.ts";
import { parseExactJson } from "../contract/json.ts";
import { isoTime } from "../contract/time.ts";
import { decimalOf, decimalText, magnitude, negate, subtract } from "./decimal.ts";
import type { BillPages, Chunks, ExportedBill } from "./exported-bill.ts";
import { walletChange } from "./wallet-change.ts";

/**
 * A JSON array of ccxt's unified ledger entries, one a line. Numbers are text, as with ccxt's
 * `exchange.number = String`: a float would lose digits. Amounts are absolute, as ccxt has them,
 * and `direction` is their sign; a cost below zero is a rebate. Then
 * `after = before ± amount - fee.cost`, but where a bill's kind moves the wallet otherwise: margin
 * moves mostly do not.
 */
export async function* toCcxt(pages: BillPages): Chunks {
  let separator = "[\n";
  for await (const bills of pages) {
    if (bills.length === 0) continue;
    yield separator + bills.map((bill) => JSON.stringify(ledgerEntry(bill))).join(",\n");
    separator = ",\n";
  }
  yield separator === ",\n" ? "\n]\n" : "[]\n";
}

/** ccxt's words. Where it has none, the exchange's own stands, as ccxt does it. */
const types: Readonly<Partial<Record<Category, string>>> = {
  transfer: "transfer",
  trade: "trade",
  liquidation: "trade",
  delivery: "trade",
  conversion: "trade",
  spot: "trade",
  funding: "fee",
  fees: "fee",
  interest: "fee",
  bonus: "cashback",
};

function ledgerEntry(bill: ExportedBill): object {
  const { account, productType, billId, businessType, category, coin, balance, cTime } = bill;
  const amount = decimalOf(bill.amount);
  const fee = decimalOf(bill.fee);
  const sign = amount.units === 0n ? fee.units : amount.units;
  const before =
    balance === null ? null : decimalText(subtract(decimalOf(balance), walletChange(bill)));
  return {
    id: billId,
    timestamp: cTime,
    datetime: isoTime(cTime),
    direction: sign < 0n ? "out" : "in",
    account: `${account}/${productType}`,
    referenceId: null,
    referenceAccount: /^trans_(?:from|to)_(.+)$/.exec(businessType)?.[1] ?? null,
    type: types[category] ?? businessType,
    currency: coin,
    amount: decimalText(magnitude(amount)),
    before,
    after: balance,
    status: "ok",
    fee: { cost: decimalText(negate(fee)), currency: coin },
    info: rawRow(bill),
  };
}

/** The bill under the API's names, with what the columns do not know in its own spelling. */
function rawRow(bill: ExportedBill): object {
  const { billId, symbol, amount, fee, feeByCoupon, businessType, coin, balance, cTime } = bill;
  return {
    billId,
    symbol: symbol ?? "",
    amount,
    fee,
    feeByCoupon: feeByCoupon ?? "",
    businessType,
    coin,
    balance: balance ?? "",
    cTime: String(cTime),
    ...(bill.extra === null ? {} : (parseExactJson(bill.extra) as object)),
  };
}
