import { z } from "zod";
import type { Operation } from "./operation.ts";
import { optionalDecimal, optionalText, text } from "./scalars.ts";
import { secondMs } from "./time.ts";

/** Known values of a symbol's status: normal, offline, grey scale, trading suspended. */
export const symbolStatuses = ["online", "offline", "gray", "halt"] as const;

/**
 * The settings of one spot pair. All values are text; `maxTradeAmount` is seen at 9e20, more
 * than a bigint holds, and `offTime` is empty where none is set.
 */
const symbolRow = z.looseObject({
  symbol: text,
  baseCoin: optionalText,
  quoteCoin: optionalText,
  /** Obsolete: minTradeUSDT took its place. */
  minTradeAmount: optionalDecimal,
  /** Obsolete: quantities are generally not limited. */
  maxTradeAmount: optionalDecimal,
  /** Default rates; an individual rate may override them. */
  takerFeeRate: optionalDecimal,
  makerFeeRate: optionalDecimal,
  pricePrecision: optionalDecimal,
  quantityPrecision: optionalDecimal,
  quotePrecision: optionalDecimal,
  minTradeUSDT: optionalDecimal,
  /** One of {@link symbolStatuses}; a value that is not among them is kept. */
  status: optionalText,
  /** Allowed distance from the price as a fraction: 0.05 is 5 %. */
  buyLimitPriceRatio: optionalDecimal,
  sellLimitPriceRatio: optionalDecimal,
  /** "yes" or "no". */
  areaSymbol: optionalText,
  /** Most orders allowed on the symbol. */
  orderQuantity: optionalDecimal,
  /** Milliseconds since the Unix epoch. */
  openTime: optionalText,
  offTime: optionalText,
});

export type SymbolSettings = z.output<typeof symbolRow>;

/** Get Symbol Info: the settings of one spot pair, or of all where no symbol is named. */
export const symbols = {
  name: "symbols",
  method: "GET",
  path: "/api/v2/spot/public/symbols",
  access: "public",
  query: z.strictObject({ symbol: z.string().optional() }),
  data: z.array(symbolRow),
  limit: { requests: 20, perMs: secondMs, scope: "ip" },
} as const satisfies Operation;
