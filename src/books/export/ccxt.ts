import { type Category, groupAndName } from "../../core/contract/business-types.ts";
import { parseExactJson } from "../../core/contract/json.ts";
import {
  categoryOf,
  isSpotOrFunding,
  isUnified,
  mayContainFee,
  spotWallet,
  walletOf,
} from "../../core/contract/product-types.ts";
import {
  type Decimal,
  decimalOf,
  decimalText,
  isZero,
  magnitude,
  negate,
  subtract,
} from "../../lib/decimal.ts";
import { isoTime } from "../../lib/time.ts";
import type { BillPages, Chunks, ExportedBill } from "./exported-bill.ts";
import { balanceChange } from "./exported-bill.ts";

/**
 * A JSON array of ccxt's unified ledger entries, one a line. Numbers are text, as with ccxt's
 * `exchange.number = String`: a float would lose digits. Amounts are absolute, as in ccxt, and
 * `direction` is their sign; a cost below zero is a rebate. So `after = before ± amount - fee.cost`,
 * except for categories that move the wallet differently, such as margin, which usually moves nothing.
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

/** ccxt's names of types. For others the exchange's own name is used, as ccxt does. */
const types: Readonly<Partial<Record<Category, string>>> = {
  transfer: "transfer",
  deposit: "transaction",
  withdrawal: "transaction",
  trade: "trade",
  liquidation: "trade",
  delivery: "trade",
  conversion: "trade",
  spot: "trade",
  funding: "fee",
  "fee-bills": "fee",
  interest: "fee",
  bonus: "cashback",
};

function ledgerEntry(bill: ExportedBill): object {
  const { account, productType, billId, businessType, category, coin, balance, cTime } = bill;
  const amount = amountOf(bill);
  const fee = decimalOf(bill.fee);
  const sign = amount.units === 0n ? fee.units : amount.units;
  const before =
    balance === null ? null : decimalText(subtract(decimalOf(balance), balanceChange(bill)));
  return {
    id: billId,
    timestamp: cTime,
    datetime: isoTime(cTime),
    direction: sign < 0n ? "out" : "in",
    account: `${account}/${walletOf(productType)}`,
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

/** The amount without the fee, which a unified account's amount may contain: ccxt shows fees separately. */
function amountOf(bill: ExportedBill): Decimal {
  const isMoved = mayContainFee(bill.productType) && !isZero(balanceChange(bill));
  return decimalOf(isMoved ? bill.walletAmount : bill.amount);
}

/** The bill under the API's names, including fields that have no column, as they were spelled. */
function rawRow(bill: ExportedBill): object {
  const { productType, billId, coin, amount, fee, businessType } = bill;
  const [symbol, balance, time] = [bill.symbol ?? "", bill.balance ?? "", String(bill.cTime)];
  const extra = bill.extra === null ? {} : (parseExactJson(bill.extra) as object);
  if (isSpotOrFunding(productType)) {
    const [groupType, type] = groupAndName(businessType);
    const row = { coin, groupType, balance };
    return productType === spotWallet
      ? { ...row, billId, businessType: type, size: amount, fees: fee, cTime: time, ...extra }
      : { ...row, id: billId, type, amount, ts: time, ...extra };
  }
  if (!isUnified(productType)) {
    const row = { billId, symbol, amount, fee, feeByCoupon: bill.feeByCoupon ?? "", businessType };
    return { ...row, coin, balance, cTime: time, ...extra };
  }
  const { positionType, positionAmount, positionBalance } = bill;
  return {
    ...{ category: categoryOf(productType), id: billId, symbol, coin, type: businessType },
    ...(positionType !== null && { positionType }),
    ...{ amount, fee },
    ...(positionAmount !== null && { positionAmount }),
    ...(positionBalance !== null && { positionBalance }),
    ...{ balance, ts: time },
    ...extra,
  };
}
