import type { UnifiedProductType } from "../../contract/product-types.ts";
import { type Units, unifiedPlaces, units } from "../money.ts";

/** In a unified account's units of 1e-16. */
export const exactUnits = (coins: string): Units => units(coins, unifiedPlaces);

/**
 * What a unified account has of each coin when it opens. There is one balance a coin, whichever
 * category moves it; what is not listed here is only ever bought.
 */
export const unifiedOpenings: ReadonlyMap<string, Units> = new Map(
  Object.entries({
    USDT: "250000",
    USDC: "120000",
    BTC: "4.2",
    ETH: "75",
    SOL: "800",
    BGB: "20000",
  }).map(([coin, opening]) => [coin, exactUnits(opening)]),
);

/** A pair of coins that are traded for each other. */
export type Pair = {
  readonly symbol: string;
  readonly base: string;
  readonly quote: string;
  readonly price: Units;
};

const pair = (base: string, quote: string, price: string): Pair => ({
  // Names of coins keep their case, those of pairs do not.
  symbol: `${base}${quote}`.toUpperCase(),
  base,
  quote,
  price: exactUnits(price),
});

export const pairs: readonly Pair[] = [
  pair("BTC", "USDT", "64250.1"),
  pair("ETH", "USDT", "3120.55"),
  pair("rTOWN", "USDT", "36.284"),
  pair("SOL", "USDC", "151.07"),
  pair("ETH", "BTC", "0.048571"),
];

/** What the fees in it are paid with, by those who wish. */
export const feeCoin = "BGB";

/** A contract, and the coin that its profits and losses are in. */
export type Contract = { readonly symbol: string; readonly coin: string };

export type FuturesProductType = Extract<UnifiedProductType, `${string}-FUTURES`>;

const contractsIn = (coin: string, symbols: readonly string[]): readonly Contract[] =>
  symbols.map((symbol) => ({ symbol, coin }));

export const contracts: Readonly<Record<FuturesProductType, readonly Contract[]>> = {
  "UTA-USDT-FUTURES": contractsIn("USDT", ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT"]),
  "UTA-COIN-FUTURES": [
    { symbol: "BTCUSD", coin: "BTC" },
    { symbol: "ETHUSD", coin: "ETH" },
  ],
  "UTA-USDC-FUTURES": contractsIn("USDC", ["BTCPERP", "ETHPERP", "SOLPERP"]),
};
