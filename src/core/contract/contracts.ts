import { z } from "zod";
import type { Operation } from "./operation.ts";
import { classicProductTypes } from "./product-types.ts";
import { type Row, readerOf } from "./row.ts";
import { optionalDecimal, optionalEpochMs, optionalText, optionalTexts, text } from "./scalars.ts";

/**
 * The settings of one futures contract. Source: the exchange's own page on the operation, and the fields
 * that public clients read. All values but `supportMarginCoins` are text.
 */
export const contractFields = {
  symbol: text,
  baseCoin: optionalText,
  quoteCoin: optionalText,
  buyLimitPriceRatio: optionalDecimal,
  sellLimitPriceRatio: optionalDecimal,
  feeRateUpRatio: optionalDecimal,
  /** Default fee rates; an individual rate may override them. */
  makerFeeRate: optionalDecimal,
  takerFeeRate: optionalDecimal,
  openCostUpRatio: optionalDecimal,
  supportMarginCoins: optionalTexts,
  minTradeNum: optionalDecimal,
  priceEndStep: optionalDecimal,
  volumePlace: optionalDecimal,
  pricePlace: optionalDecimal,
  sizeMultiplier: optionalDecimal,
  /** "perpetual" or "delivery"; another value is kept. */
  symbolType: optionalText,
  minTradeUSDT: optionalDecimal,
  maxSymbolOrderNum: optionalDecimal,
  maxProductOrderNum: optionalDecimal,
  maxPositionNum: optionalDecimal,
  /** Seen: listed, normal, maintain, limit_open, restrictedAPI, off; another value is kept. */
  symbolStatus: optionalText,
  /** Times are milliseconds since the Unix epoch; empty and -1 mean that there is none. */
  offTime: optionalEpochMs,
  limitOpenTime: optionalEpochMs,
  deliveryTime: optionalEpochMs,
  deliveryStartTime: optionalEpochMs,
  deliveryPeriod: optionalText,
  launchTime: optionalEpochMs,
  /** Hours between two settlements of funding. */
  fundInterval: optionalDecimal,
  minLever: optionalDecimal,
  maxLever: optionalDecimal,
  posLimit: optionalDecimal,
  maintainTime: optionalEpochMs,
  openTime: optionalEpochMs,
  maxMarketOrderQty: optionalDecimal,
  maxOrderQty: optionalDecimal,
};

/** The current settings of one contract. Numbers and times are text. An empty string is read as null. */
export type ContractSettings = Row<typeof contractFields>;

/** Reads one row of the list. Never throws: for a row that is not a contract it returns the fault. */
export const readContract = readerOf(contractFields);

/** The contracts of a product type, or one of them. Source: the exchange's own page on the operation. */
export const contracts = {
  name: "contracts",
  path: "/api/v2/mix/market/contracts",
  access: "public",
  query: z.strictObject({
    /** Upper or lower case, as for bills. */
    productType: z.string().toUpperCase().pipe(z.enum(classicProductTypes)),
    symbol: z.string().optional(),
  }),
  /** The rows are checked one by one, so that a broken row does not invalidate the others. */
  data: z.array(z.unknown()),
  limit: { requests: 20, scope: "ip" },
} as const satisfies Operation;
