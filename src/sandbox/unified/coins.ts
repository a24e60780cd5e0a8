import type { UnifiedProductType } from "../../contract/product-types.ts";
import { type Units, unifiedPlaces, units } from "../money.ts";

/** Amounts in a unified account's units of 1e-16. */
export const exactUnits = (coins: string): Units => units(coins, unifiedPlaces);

/**
 * A unified account's opening balances. Each coin has one balance, whichever category moves it.
 * Coins that are not listed here are only ever bought.
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
  // Coin names keep their case; pair names are in upper case.
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

/** The coin in which fees can be paid by choice. */
export const feeCoin = "BGB";

/** A contract, and the coin of its profits and losses. */
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
