import { z } from "zod";
import { unstorable } from "./json.ts";
import type { Operation } from "./operation.ts";
import { type Row, readerOf } from "./row.ts";
import { optionalDecimal, optionalEpochMs, optionalText, text } from "./scalars.ts";

/**
 * The settings of one spot pair. All values are text. `maxTradeAmount` was seen at 9e20, which is more
 * than a Postgres bigint holds. `offTime` is empty where none is set.
 */
export const symbolFields = {
  symbol: text,
  baseCoin: optionalText,
  quoteCoin: optionalText,
  /** Obsolete: minTradeUSDT took its place. */
  minTradeAmount: optionalDecimal,
  /** Obsolete: quantities are generally not limited. */
  maxTradeAmount: optionalDecimal,
  /** Default fee rates; an individual rate may override them. */
  takerFeeRate: optionalDecimal,
  makerFeeRate: optionalDecimal,
  pricePrecision: optionalDecimal,
  quantityPrecision: optionalDecimal,
  quotePrecision: optionalDecimal,
  minTradeUSDT: optionalDecimal,
  /** "online", "offline", "gray" or "halt"; other values are kept. */
  status: optionalText,
  /** Allowed distance from the price, as a fraction: 0.05 is 5 %. */
  buyLimitPriceRatio: optionalDecimal,
  sellLimitPriceRatio: optionalDecimal,
  /** "yes" or "no". */
  areaSymbol: optionalText,
  /** The most orders allowed on the symbol. */
  orderQuantity: optionalDecimal,
  /** Milliseconds since the Unix epoch. */
  openTime: optionalEpochMs,
  offTime: optionalEpochMs,
};

/** The current settings of one pair. Numbers and times are text. An empty string is read as null. */
export type SymbolSettings = Row<typeof symbolFields>;

/** Reads one row of the list. Never throws: for a row that is not a symbol it returns the fault. */
export const readSymbol = readerOf(symbolFields);

const rowWithName = z.looseObject({ symbol: text });

/** The symbol of a row, even where other fields are broken; undefined where it has no valid symbol. */
export function symbolOf(row: unknown): string | undefined {
  const name = rowWithName.safeParse(row).data?.symbol;
  return unstorable(name) === undefined ? name : undefined;
}

/** Get Symbol Info: the settings of one spot pair, or of all pairs where no symbol is named. */
export const symbols = {
  name: "symbols",
  path: "/api/v2/spot/public/symbols",
  access: "public",
  query: z.strictObject({ symbol: z.string().optional() }),
  /** The rows are checked one by one, so that a broken row does not invalidate the others. */
  data: z.array(z.unknown()),
  limit: { requests: 20, scope: "ip" },
} as const satisfies Operation;
