import { contractFields } from "../../core/contract/contracts.ts";
import type { ClassicProductType } from "../../core/contract/product-types.ts";
import type { Fields } from "../../core/contract/row.ts";
import { optionalDecimal } from "../../core/contract/scalars.ts";
import { symbolFields } from "../../core/contract/symbols.ts";
import { dayMs } from "../../lib/time.ts";
import { decimalText, drawUnits, product, ratioText, units } from "./money.ts";
import { profiles } from "./profiles.ts";
import { integer, type Random } from "./random.ts";

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
  profiles[productType].instruments.map(({ symbol, coin }, place) =>
    contract(symbol, coin, { place, now }),
  );

function contract(
  symbol: string,
  coin: string,
  { place, now }: { readonly place: number; readonly now: number },
): ContractRecord {
  const base = symbol.replace(quotes, "");
  return {
    ...usual(contractFields),
    symbol,
    baseCoin: base,
    // Contracts margined in their own coin are priced in US dollars.
    quoteCoin: coin === base ? "USD" : coin,
    makerFeeRate: "0.00020",
    takerFeeRate: "0.0006",
    supportMarginCoins: coin === base ? ["BTC", "ETH", "USDC", "XRP"] : [coin],
    pricePlace: String(1 + (place % 4)),
    symbolType: "perpetual",
    symbolStatus: "normal",
    offTime: "-1",
    limitOpenTime: "-1",
    launchTime: String(now - openedDaysAgo * dayMs),
    // Not documented by the exchange.
    isRwa: "NO",
  };
}

/** A number in each field that is a decimal, and nothing in the others. */
const usual = (fields: Fields): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, scalar]) => [name, scalar === optionalDecimal ? "1" : ""]),
  );

const bases = [
  ...["BTC", "ETH", "SOL", "XRP", "ADA", "DOGE", "DOT", "LTC", "LINK", "AVAX"],
  ...["TRX", "ATOM", "UNI", "ETC", "XLM", "NEAR", "APT", "ARB", "OP", "SUI"],
  ...["FIL", "ICP", "HBAR", "INJ", "PEPE", "SHIB", "BONK", "WIF", "TON", "BGB"],
];
const statuses = ["online", "online", "online", "online", "online", "gray", "halt", "offline"];

type SymbolRecord = { readonly symbol: string } & Readonly<Record<string, string>>;

/** Settings of 60 spot pairs, with oddities of the exchange's own. */
export function makeSymbols(random: Random, now: number): readonly SymbolRecord[] {
  return bases.flatMap((base) =>
    ["USDT", "USDC"].map((quote) => {
      const status = statuses[integer(random, 0, statuses.length - 1)] ?? "online";
      const opened = now - integer(random, 100, 2_000) * dayMs;
      return {
        ...usual(symbolFields),
        symbol: `${base}${quote}`,
        baseCoin: base,
        quoteCoin: quote,
        // The exchange sends this value: it exceeds a Postgres bigint.
        maxTradeAmount: "900000000000000000000",
        takerFeeRate: "0.002",
        makerFeeRate: "0.00200000",
        pricePrecision: String(integer(random, 1, 8)),
        quantityPrecision: String(integer(random, 0, 6)),
        status,
        areaSymbol: random() < 0.2 ? "yes" : "no",
        openTime: String(opened),
        offTime: status === "offline" ? String(now - integer(random, 1, 90) * dayMs) : "",
        // Not documented by the exchange.
        maxLimitOrderValue: "10000000",
        maxMarketOrderValue: "1000000.5000",
      };
    }),
  );
}

const margin = [
  { coin: "BTC", price: units("64250.1"), most: units("12") },
  { coin: "ETH", price: units("3120.55"), most: units("200") },
  { coin: "USDT", price: units("1"), most: units("400000") },
];
const debts = [
  { coin: "USDT", price: units("1"), most: units("300000") },
  { coin: "USDC", price: units("0.9998"), most: units("150000") },
];
const ltvPlaces = 4;

/**
 * A risk unit's loan-to-value record. It is consistent: total assets are the sum of the converted
 * ones, each converted asset is price times amount less a haircut, and the rate is debt over
 * assets, rounded half up.
 */
export function makeLoanToValue(random: Random, subAccountUids: readonly string[]): object {
  const assets = margin.map(({ coin, price, most }) => {
    const amount = most / 4n + drawUnits(random, most);
    const haircut = coin === "USDT" ? units("1") : units("0.95");
    return { coin, price, amount, converted: product(product(price, amount), haircut) };
  });
  const loans = debts.map(({ coin, price, most }) => {
    const quantity = drawUnits(random, most);
    const interest = drawUnits(random, quantity / 1_000n + 1n);
    return { coin, quantity, interest, value: product(quantity + interest, price) };
  });
  const total = assets.reduce((sum, { converted }) => sum + converted, 0n);
  const debt = loans.reduce((sum, { value }) => sum + value, 0n);
  return {
    ltv: ratioText(debt, total, ltvPlaces),
    subAccountUids,
    usdtBalance: decimalText(total),
    unpaidUsdtAmount: decimalText(debt),
    unpaidInfo: loans.map(({ coin, quantity, interest }) => ({
      coin,
      unpaidQty: decimalText(quantity),
      unpaidInterest: decimalText(interest),
    })),
    balanceInfo: assets.map(({ coin, price, amount, converted }) => ({
      coin,
      price: decimalText(price),
      amount: decimalText(amount),
      convertedUsdtAmount: decimalText(converted),
    })),
  };
}
