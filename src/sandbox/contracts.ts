import type { ClassicProductType } from "../contract/product-types.ts";
import { dayMs } from "../contract/time.ts";
import { profiles } from "./profiles.ts";

type ContractRecord = { readonly symbol: string } & Readonly<
  Record<string, string | readonly string[]>
>;

/** The part of a contract's name after its base coin. */
const quotes = /(USDT|SUSDT|USDC|PERP|SPERP|USD|SUSD)$/;
const openedDaysAgo = 900;

/**
 * The settings of every contract that a product type's bills name. They have the oddities of the
 * exchange's own settings: a rate with trailing zeros, lists, times that are empty or -1, and a
 * field without a column.
 */
export const makeContracts = (
  productType: ClassicProductType,
  now: number,
): readonly ContractRecord[] =>
  profiles[productType].coins.flatMap(({ coin, symbols }) =>
    symbols.map((symbol, place) => contract(symbol, coin, { place, now })),
  );

function contract(
  symbol: string,
  coin: string,
  { place, now }: { readonly place: number; readonly now: number },
): ContractRecord {
  const base = symbol.replace(quotes, "");
  return {
    symbol,
    baseCoin: base,
    // Contracts margined in their own coin are priced in US dollars.
    quoteCoin: coin === base ? "USD" : coin,
    buyLimitPriceRatio: "0.05",
    sellLimitPriceRatio: "0.05",
    feeRateUpRatio: "0.005",
    makerFeeRate: "0.00020",
    takerFeeRate: "0.0006",
    openCostUpRatio: "0.01",
    supportMarginCoins: coin === base ? ["BTC", "ETH", "USDC", "XRP"] : [coin],
    minTradeNum: "0.001",
    priceEndStep: "5",
    volumePlace: "3",
    pricePlace: String(1 + (place % 4)),
    sizeMultiplier: "0.001",
    symbolType: "perpetual",
    minTradeUSDT: "5",
    maxSymbolOrderNum: "200",
    maxProductOrderNum: "400",
    maxPositionNum: "150",
    symbolStatus: "normal",
    offTime: "-1",
    limitOpenTime: "-1",
    deliveryTime: "",
    deliveryStartTime: "",
    deliveryPeriod: "",
    launchTime: String(now - openedDaysAgo * dayMs),
    fundInterval: "8",
    minLever: "1",
    maxLever: "125",
    posLimit: "0.1",
    maintainTime: "",
    openTime: "",
    maxMarketOrderQty: "220",
    maxOrderQty: "1200",
    // Not documented by the exchange.
    isRwa: "NO",
  };
}
