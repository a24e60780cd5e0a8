import type { ClassicProductType } from "../../core/contract/product-types.ts";
import { type Units, units } from "./money.ts";

type CoinProfile = {
  readonly coin: string;
  /** The coin's first transfer in. Entries are some thousandths of it. */
  readonly opening: Units;
  readonly symbols: readonly string[];
};

/** How busy a product type is. Counts are for 90 days. */
export type Profile = {
  readonly coins: readonly CoinProfile[];
  readonly bills: number;
  /** How many of `bills` fall into the busiest week. */
  readonly heavyWeekBills: number;
  /** The percentage of the three daily funding times at which a position is open. */
  readonly fundingPercent: number;
  /** The number of bills in the largest cluster within one millisecond. */
  readonly largestCluster: number;
};

const coin = (name: string, opening: string, symbols: readonly string[]): CoinProfile => ({
  coin: name,
  opening: units(opening),
  symbols,
});

const busy = { bills: 2_500, heavyWeekBills: 900, fundingPercent: 100, largestCluster: 150 };
const calm = { bills: 560, heavyWeekBills: 210, fundingPercent: 30, largestCluster: 130 };
const slow = { bills: 360, heavyWeekBills: 120, fundingPercent: 20, largestCluster: 40 };
const demo = { bills: 120, heavyWeekBills: 40, fundingPercent: 6, largestCluster: 20 };

// All product types together take about 170 requests for 90 days: some 17 s at the API's 10
// requests a second.
export const profiles: Readonly<Record<ClassicProductType, Profile>> = {
  "USDT-FUTURES": {
    ...busy,
    coins: [coin("USDT", "250000", ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "1000BONKUSDT"])],
  },
  "COIN-FUTURES": {
    ...calm,
    coins: [
      coin("BTC", "4.2", ["BTCUSD"]),
      coin("ETH", "75", ["ETHUSD"]),
      coin("XRP", "90000", ["XRPUSD"]),
      coin("SOL", "800", ["SOLUSD"]),
    ],
  },
  "USDC-FUTURES": { ...slow, coins: [coin("USDC", "120000", ["BTCPERP", "ETHPERP", "SOLPERP"])] },
  "SUSDT-FUTURES": { ...demo, coins: [coin("SUSDT", "50000", ["SBTCSUSDT", "SETHSUSDT"])] },
  "SCOIN-FUTURES": {
    ...demo,
    coins: [coin("SBTC", "2", ["SBTCSUSD"]), coin("SETH", "30", ["SETHSUSD"])],
  },
  "SUSDC-FUTURES": { ...demo, coins: [coin("SUSDC", "50000", ["SBTCSPERP", "SETHSPERP"])] },
};
