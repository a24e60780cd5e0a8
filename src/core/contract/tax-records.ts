import { z } from "zod";
import { dayMs, type EpochMs } from "../../lib/time.ts";
import { type Bill, type BillReading, billRows, noPosition, timeOfText } from "./bill.ts";
import { groupedType } from "./business-types.ts";
import { type Operation, type Query, spanAtMost, spanParameters } from "./operation.ts";
import {
  categoryOf,
  classicProductTypes,
  fundingWallet,
  isDemoProductType,
  isUnified,
  type ProductType,
  spotWallet,
  unifiedCategories,
} from "./product-types.ts";
import type { Extra } from "./row.ts";
import { decimal, epochMsText, optionalDecimal, optionalText, text } from "./scalars.ts";
import { spotCoin } from "./spot-bills.ts";

// Tax records reach back years, where bills go back 90 days. They have a bill's id, time, amount and fee, and no coupon;
// those of a classic account's futures have no balance either. Their pages are ascending and lose rows to a cursor, so a span is
// asked for by its times alone.

/** The most rows of one answer. */
export const taxRowsMax = 500;

// Both times are required.
const parameters = {
  ...spanParameters(taxRowsMax),
  startTime: epochMsText,
  endTime: epochMsText,
};

const rows = z
  .array(z.unknown())
  .nullable()
  .transform((list) => list ?? []);

const classicSpanMaxMs = 30 * dayMs;
const unifiedSpanMaxMs = 7 * dayMs;

/** Get Future Transaction Records, for taxes: one product type's bills of up to 30 days, oldest first. */
export const classicTaxRecords = {
  name: "tax records",
  path: "/api/v2/tax/future-record",
  access: "signed",
  query: z
    .strictObject({
      productType: z.string().toUpperCase().pipe(z.enum(classicProductTypes)),
      ...parameters,
    })
    .refine(...spanAtMost(classicSpanMaxMs)),
  data: rows,
  limit: { requests: 1, scope: "uid" },
} as const satisfies Operation;

/** Get Tax Records of a unified account: one category's bills of up to 7 days of the last 366. */
export const unifiedTaxRecords = {
  name: "unified tax records",
  path: "/api/v3/tax/records",
  access: "signed",
  query: z
    .strictObject({
      bizType: z.string().toUpperCase().pipe(z.enum(unifiedCategories)),
      ...parameters,
    })
    .refine(...spanAtMost(unifiedSpanMaxMs)),
  data: rows,
  limit: { requests: 1, scope: "uid" },
} as const satisfies Operation;

/** Get Spot Transaction Records, for taxes: the spot wallet's bills of up to 30 days. */
export const spotTaxRecords = {
  name: "spot tax records",
  path: "/api/v2/tax/spot-record",
  access: "signed",
  query: z.strictObject(parameters).refine(...spanAtMost(classicSpanMaxMs)),
  data: rows,
  limit: { requests: 1, scope: "uid" },
} as const satisfies Operation;

export const taxOperations = [classicTaxRecords, unifiedTaxRecords, spotTaxRecords] as const;

const classicFields = {
  id: text,
  symbol: optionalText,
  marginCoin: text,
  futureTaxType: text,
  amount: decimal,
  fee: decimal,
  ts: epochMsText,
};

const unifiedFields = {
  id: text,
  coin: text,
  type: text,
  amount: decimal,
  fee: decimal,
  balance: optionalDecimal,
  ts: epochMsText,
};

const spotFields = {
  id: text,
  coin: text,
  spotTaxType: optionalText,
  amount: decimal,
  fee: decimal,
  balance: optionalDecimal,
  ts: epochMsText,
};

/**
 * What tax records call types that bills call otherwise. A type that is not listed keeps its name. Of two names of one type
 * the last is the usual one.
 */
export const taxTypes: Readonly<Record<string, string>> = {
  contract_margin_settle_fee: "contract_settle_fee",
  contract_main_settle_fee: "contract_settle_fee",
  buy_deal: "buy",
  sell_deal: "sell",
  burst_close_long: "burst_long_loss_query",
  burst_close_short: "burst_short_loss_query",
};

/**
 * The same of the spot wallet, whose bills name a group, too. By their names: no record was seen beside its bill. A word that
 * is not listed has no group.
 */
export const spotTaxTypes: Readonly<Record<string, string>> = {
  Deposit: "deposit/deposit",
  "Ordinary Withdrawal": "withdraw/withdraw",
  Withdrawal: "withdraw/withdraw",
  Buy: "transaction/buy",
  Sell: "transaction/sell",
  "Transaction fee deduct": "transaction/deduction_handling_fee",
  "Transfer in": "transfer/transfer_in",
  "Transfer out": "transfer/transfer_out",
  "MegaSwap Transfer in": "transfer/megaswap_transfer_in",
  "MegaSwap Transfer out": "transfer/megaswap_transfer_out",
  "Deposit from strategy account": "strategy/strategy_transfer_in",
  "Withdraw to strategy account": "strategy/strategy_transfer_out",
  "Exchange income": "convert/exchange_income",
  "Exchange spending": "convert/exchange_spending",
  "Buy Crypto": "fait/buy_crypto",
  "Sell Crypto": "fait/sell_crypto",
};

/** The type of a record, and its own word beside the other fields that its columns cannot give back. */
function typed(
  name: "futureTaxType" | "type" | "spotTaxType",
  word: string,
  extra: Extra,
  businessType = taxTypes[word] ?? word,
) {
  return { businessType, extra: businessType === word ? extra : { [name]: word, ...extra } };
}

const taxBill = {
  ...noPosition,
  symbol: null,
  balance: null,
  feeByCoupon: null,
  source: "tax-records",
} as const satisfies Partial<Bill>;

const names = { id: "id", time: "ts" } as const;

const classicRows = billRows(classicFields, names, (row) => {
  const { id, marginCoin, futureTaxType, ts, extra, ...values } = row;
  const type = typed("futureTaxType", futureTaxType, extra);
  const cTime = timeOfText(ts);
  return { bill: { ...taxBill, ...values, ...type, billId: id, coin: marginCoin, cTime } };
});

const unifiedRows = billRows(unifiedFields, names, ({ id, type, ts, extra, ...values }) => {
  const own = typed("type", type, extra);
  return { bill: { ...taxBill, ...values, ...own, billId: id, cTime: timeOfText(ts) } };
});

const spotRows = billRows(spotFields, names, ({ id, coin, spotTaxType, ts, extra, ...values }) => {
  const word = spotTaxType ?? "";
  const own = typed("spotTaxType", word, extra, spotTaxTypes[word] ?? groupedType(null, word));
  const cTime = timeOfText(ts);
  return { bill: { ...taxBill, ...values, ...own, billId: id, coin: spotCoin(coin), cTime } };
});

/** The id of a row, even where other fields are broken; undefined where it has no valid id. */
export const taxIdOf = classicRows.idOf;

/** How one product type's tax records are read. */
export type TaxApi = {
  readonly operation: (typeof taxOperations)[number];
  /** The longest window `[from, to)`, which is asked for as `from - 1` to `to`: see bills-api.ts. */
  readonly windowMaxMs: number;
  /** How far back they reach; undefined where that is not known. */
  readonly reachMs: number | undefined;
  query(span: { readonly from: EpochMs; readonly to: EpochMs }): Query;
  /** Reads a row as a bill. Never throws: for a row that is none it returns the fault. */
  read(row: unknown): BillReading;
};

/** @returns undefined where there are no tax records, or none that are known: of demo products, and of the funding wallet. */
export function taxApiOf(productType: ProductType): TaxApi | undefined {
  if (isDemoProductType(productType) || productType === fundingWallet) return undefined;
  const times = ({ from, to }: { readonly from: EpochMs; readonly to: EpochMs }) => ({
    startTime: String(from - 1),
    endTime: String(to),
    limit: String(taxRowsMax),
  });
  if (productType === spotWallet)
    return {
      operation: spotTaxRecords,
      windowMaxMs: classicSpanMaxMs - 1,
      reachMs: undefined,
      query: times,
      read: spotRows.read,
    };
  return isUnified(productType)
    ? {
        operation: unifiedTaxRecords,
        windowMaxMs: unifiedSpanMaxMs - 1,
        reachMs: 365 * dayMs,
        query: (span) => ({ bizType: categoryOf(productType), ...times(span) }),
        read: unifiedRows.read,
      }
    : {
        operation: classicTaxRecords,
        windowMaxMs: classicSpanMaxMs - 1,
        reachMs: undefined,
        query: (span) => ({ productType, ...times(span) }),
        read: classicRows.read,
      };
}
