import type { UnifiedProductType } from "../../../core/contract/product-types.ts";
import { movesBalance } from "../entry.ts";
import { drawUnits, product, type Units, unifiedPlaces, units } from "../money.ts";
import { pick, type Random } from "../random.ts";
import type { LedgerEvent } from "./ledger-events.ts";

/** Amounts in a unified account's units of 1e-16. */
const exactUnits = (coins: string): Units => units(coins, unifiedPlaces);

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
type Pair = {
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

const pairs: readonly Pair[] = [
  pair("BTC", "USDT", "64250.1"),
  pair("ETH", "USDT", "3120.55"),
  pair("rTOWN", "USDT", "36.284"),
  pair("SOL", "USDC", "151.07"),
  pair("ETH", "BTC", "0.048571"),
];

/** The coin in which fees can be paid by choice. */
const feeCoin = "BGB";

/** A contract, and the coin of its profits and losses. */
type Contract = { readonly symbol: string; readonly coin: string };

type FuturesProductType = Extract<UnifiedProductType, `${string}-FUTURES`>;

const contractsIn = (coin: string, symbols: readonly string[]): readonly Contract[] =>
  symbols.map((symbol) => ({ symbol, coin }));

const contracts: Readonly<Record<FuturesProductType, readonly Contract[]>> = {
  "UTA-USDT-FUTURES": contractsIn("USDT", ["BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT"]),
  "UTA-COIN-FUTURES": [
    { symbol: "BTCUSD", coin: "BTC" },
    { symbol: "ETHUSD", coin: "ETH" },
  ],
  "UTA-USDC-FUTURES": contractsIn("USDC", ["BTCPERP", "ETHPERP", "SOLPERP"]),
};

/** A row's content and effect, before it has an id. */
export type Row = {
  readonly type: string;
  readonly coin: string;
  readonly symbol: string;
  /** Amount and fee as the row states them. `moved` is what they change the balance by. */
  readonly amount: Units;
  readonly fee: Units;
  readonly moved: Units;
};

/** The account's one balance for each coin. */
type Balances = (coin: string) => Units;

type RowOptions = {
  readonly random: Random;
  readonly balances: Balances;
};

/** The rows of an event, in the order in which they move the balances. */
export function rowsOf({ productType, act }: LedgerEvent, options: RowOptions): readonly Row[] {
  switch (act.kind) {
    case "spot-fill":
      return spotFill(options);
    case "conversion":
      return conversion(options);
    case "row":
      return act.coin !== undefined && act.amount !== undefined
        ? [plain(act.type, act.coin, act.amount)]
        : namedRow(productType, act.type, options);
    default:
      return act satisfies never;
  }
}

const plain = (type: string, coin: string, amount: Units, symbol = ""): Row => ({
  type,
  coin,
  symbol,
  amount,
  fee: 0n,
  moved: amount,
});

/**
 * The size of a coin's entries: its opening balance, or a fixed amount for coins that are only ever
 * bought.
 */
const sizeOf = (coin: string): Units => unifiedOpenings.get(coin) ?? exactUnits("40");

/** Orders have some ten places; their costs and fees have more. */
const drawSize = (random: Random, most: Units): Units => {
  const size = drawUnits(random, most);
  return size - (size % exactUnits("0.0000000001"));
};

/** Limits an amount so that the balance does not become negative. */
const affordable = (balance: Units, wanted: Units): Units =>
  wanted <= balance ? wanted : balance / 2n;

const times = (left: Units, right: Units): Units => product(left, right, unifiedPlaces);
const share = (amount: Units, tenThousandths: bigint): Units => (amount * tenThousandths) / 10_000n;

/**
 * A pair's two coins move in one millisecond. The fee is stated beside the amount that contains it.
 */
function spotFill(options: RowOptions): readonly Row[] {
  const { random, balances } = options;
  const pair = pick(random, pairs);
  const wanted = drawSize(random, sizeOf(pair.base) / 400n);
  const cost = times(wanted, pair.price);
  const isBuy =
    balances(pair.base) < wanted || (random() < 0.5 && balances(pair.quote) > 2n * cost);
  const isPaidBeside = random() < 0.15 && balances(feeCoin) > sizeOf(feeCoin) / 100n;
  const rate = isPaidBeside ? 0n : 10n;
  const rows = isBuy ? bought(pair, options, wanted, rate) : sold(pair, wanted, rate);
  // Either order is possible: the two balances are of different coins.
  const shown = random() < 0.5 ? rows : rows.toReversed();
  return isPaidBeside ? [...shown, feeRow(random, pair.symbol)] : shown;
}

function bought(
  { symbol, base, quote, price }: Pair,
  { balances }: RowOptions,
  wanted: Units,
  rate: bigint,
): readonly Row[] {
  const order = affordable(balances(quote), times(wanted, price));
  const fee = -share(order, rate);
  const out = -order + fee;
  const got = (order * 10n ** BigInt(unifiedPlaces)) / price;
  return [
    plain("ORDER_DEALT_IN", base, got, symbol),
    { type: "ORDER_DEALT_FROZEN_OUT", coin: quote, symbol, amount: out, fee, moved: out },
  ];
}

function sold({ symbol, base, quote, price }: Pair, wanted: Units, rate: bigint): readonly Row[] {
  const order = times(wanted, price);
  const fee = -share(order, rate);
  const got = order + fee;
  return [
    plain("ORDER_DEALT_FROZEN_OUT", base, -wanted, symbol),
    { type: "ORDER_DEALT_IN", coin: quote, symbol, amount: got, fee, moved: got },
  ];
}

/** A fee in a separate coin is its own row: the amount is the charge, and the fee is 0. */
const feeRow = (random: Random, symbol: string): Row =>
  plain("ORDER_PLF_FEE_OUT", feeCoin, -drawSize(random, sizeOf(feeCoin) / 90_000n), symbol);

function conversion({ random, balances }: RowOptions): readonly Row[] {
  const { base, quote, price } = pick(random, pairs);
  const amount = affordable(balances(base), drawSize(random, sizeOf(base) / 200n));
  return [
    plain("EXCHANGE_SOURCE_TOKEN_USER_OUT", base, -amount),
    plain("EXCHANGE_TARGET_TOKEN_USER_IN", quote, times(amount, price)),
  ];
}

const isFutures = (productType: UnifiedProductType): productType is FuturesProductType =>
  productType in contracts;

const outgoing = /_OUT$|_OUT_|REPAYMENT$|^LIQ_FEE$|_PAY$/;
const incoming = /_IN$|_IN_|^BORROW$|REFUND$/;
const opens = /OPEN_(LONG|SHORT)$/;
const loses = /FORCE|BURST/;
const isTrade = /_(LONG|SHORT)$|_DEAL$|_SSM$/;

/** A row of a type of which only the name is known. */
function namedRow(
  productType: UnifiedProductType,
  type: string,
  options: RowOptions,
): readonly Row[] {
  const { random } = options;
  const contract = isFutures(productType) ? pick(random, contracts[productType]) : undefined;
  const coin = contract?.coin ?? pick(random, [...unifiedOpenings.keys()]);
  const symbol = contract?.symbol ?? "";
  if (contract !== undefined && isTrade.test(type)) return contractRows(type, contract, options);
  const size = drawSize(random, sizeOf(coin) / (productType === "UTA-OTHER" ? 40n : 9_000n));
  const moved = affordableMove(type, coin, size, options);
  const row = plain(type, coin, moved, symbol);
  return [movesBalance(type) ? row : { ...row, moved: 0n }];
}

/** A move with the sign that the type's name implies, or with any sign. */
function affordableMove(
  type: string,
  coin: string,
  size: Units,
  { random, balances }: RowOptions,
): Units {
  const isOut = outgoing.test(type) || (!incoming.test(type) && random() < 0.5);
  return isOut ? -affordable(balances(coin), size) : size;
}

/**
 * An order's fill: the profit or loss of the closed position, with a fee or with one paid in a
 * separate coin.
 */
function contractRows(
  type: string,
  { symbol, coin }: { readonly symbol: string; readonly coin: string },
  { random, balances }: RowOptions,
): readonly Row[] {
  const size = drawSize(random, sizeOf(coin) / 900n);
  const cost = drawSize(random, sizeOf(coin) / 60_000n);
  const draw = random();
  const isPaidBeside = draw < 0.08 && balances(feeCoin) > sizeOf(feeCoin) / 100n;
  // A maker's rebate is a positive fee.
  const fee = isPaidBeside ? 0n : draw < 0.16 ? cost / 4n : -cost;
  const isLoss = random() < (loses.test(type) ? 0.95 : 0.48);
  const profit = opens.test(type) ? 0n : isLoss ? -size : size;
  const isAffordable = balances(coin) + profit + fee >= 0n;
  const amount = isAffordable ? profit : size + cost;
  const row = { type, coin, symbol, amount, fee, moved: amount + fee };
  return isPaidBeside ? [row, feeRow(random, symbol)] : [row];
}
