import type { ClassicProductType, UnifiedProductType } from "../../core/contract/product-types.ts";
import { type Units, units } from "./money.ts";

/** A product type whose bills are drawn. Those of the spot and the funding wallet follow from its transfers. */
export type DrawnType = ClassicProductType | UnifiedProductType;

/** What a bill names: a contract, or none, and the coin that it moves. */
export type Instrument = { readonly symbol: string; readonly coin: string };

/** How busy a product type is. */
type Profile = {
  readonly instruments: readonly Instrument[];
  /** How many events 90 days have, beside those that happen in any case. */
  readonly events: number;
  /** The percentage of the three daily funding times at which a position is open. */
  readonly fundingPercent: number;
  /** The number of events in the largest cluster within one millisecond. */
  readonly largestCluster: number;
  /** The types of their bills. One that is listed twice occurs twice as often. */
  readonly types: readonly string[];
};

/** What a coin's wallet begins with. Entries are some thousandths of it. */
const openings: Readonly<Record<string, string>> = {
  ...{ USDT: "250000", USDC: "120000", BTC: "4.2", ETH: "75", SOL: "800", XRP: "90000" },
  ...{ BGB: "20000", SUSDT: "50000", SBTC: "2", SETH: "30", SUSDC: "50000" },
};

/** Coins that no wallet begins with are only ever bought, some 40 of them. */
export const openingOf = (coin: string): Units => units(openings[coin] ?? "40");

const settledIn = (coin: string, ...symbols: readonly string[]): readonly Instrument[] =>
  symbols.map((symbol) => ({ symbol, coin }));

const coins = ["USDT", "USDC", "BTC", "ETH", "SOL", "BGB"].flatMap((coin) => settledIn(coin, ""));

const often = (types: readonly string[]): readonly string[] => Array(10).fill(types).flat();

const classicTypes = [
  ...often(["open_long", "open_short", "close_long", "close_short", "buy", "sell"]),
  ...["trans_from_exchange", "trans_to_exchange", "bonus_issue"],
  ...["force_close_long", "append_margin", "reduce_margin"],
];
const unifiedTypes = [
  ...often(["OPEN_LONG", "OPEN_SHORT", "CLOSE_LONG", "CLOSE_SHORT", "BUY_DEAL", "SELL_DEAL"]),
  ...["FORCE_CLOSE_LONG", "BURST_CLOSE_SHORT", "RISK_LIQ_USER_IN", "INCREASE_MARGIN"],
];
const spotFill = "ORDER_DEALT_IN";
const loans = ["BORROW", "REPAYMENT", "INTEREST_SETTLEMENT_OUT", "LIQ_FEE"];
const transfers = ["TRANSFER_IN", "TRANSFER_OUT", "BONUS_GRANT_USER_IN"];

const busy = { events: 1_800, fundingPercent: 100, largestCluster: 150 };
const calm = { events: 300, fundingPercent: 30, largestCluster: 130 };
const slow = { events: 180, fundingPercent: 20, largestCluster: 40 };
const demo = { events: 60, fundingPercent: 6, largestCluster: 20, types: classicTypes };

// All product types of a mode together take some 170 requests for 90 days: 17 s at ten a second.
export const profiles: Readonly<Record<DrawnType, Profile>> = {
  "USDT-FUTURES": {
    ...{ ...busy, types: classicTypes },
    instruments: settledIn("USDT", "BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT", "1000BONKUSDT"),
  },
  "COIN-FUTURES": {
    ...{ ...calm, types: classicTypes },
    instruments: ["BTC", "ETH", "XRP", "SOL"].flatMap((coin) => settledIn(coin, `${coin}USD`)),
  },
  "USDC-FUTURES": {
    ...{ ...slow, types: classicTypes },
    instruments: settledIn("USDC", "BTCPERP", "ETHPERP", "SOLPERP"),
  },
  "SUSDT-FUTURES": { ...demo, instruments: settledIn("SUSDT", "SBTCSUSDT", "SETHSUSDT") },
  "SCOIN-FUTURES": {
    ...demo,
    instruments: ["SBTC", "SETH"].flatMap((coin) => settledIn(coin, `${coin}SUSD`)),
  },
  "SUSDC-FUTURES": { ...demo, instruments: settledIn("SUSDC", "SBTCSPERP", "SETHSPERP") },
  "UTA-SPOT": {
    ...{ events: 700, fundingPercent: 0, largestCluster: 60 },
    ...{ instruments: coins, types: [spotFill] },
  },
  "UTA-MARGIN": {
    ...{ events: 160, fundingPercent: 0, largestCluster: 20 },
    ...{ instruments: coins, types: [spotFill, spotFill, ...loans] },
  },
  "UTA-USDT-FUTURES": {
    ...{ ...busy, types: unifiedTypes },
    instruments: settledIn("USDT", "BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT"),
  },
  "UTA-COIN-FUTURES": {
    ...{ ...calm, types: unifiedTypes },
    instruments: ["BTC", "ETH"].flatMap((coin) => settledIn(coin, `${coin}USD`)),
  },
  "UTA-USDC-FUTURES": {
    ...{ ...slow, types: unifiedTypes },
    instruments: settledIn("USDC", "BTCPERP", "ETHPERP", "SOLPERP"),
  },
  "UTA-OTHER": {
    ...{ events: 90, fundingPercent: 0, largestCluster: 12 },
    ...{ instruments: coins, types: [...transfers, "EXCHANGE_SOURCE_TOKEN_USER_OUT"] },
  },
};
