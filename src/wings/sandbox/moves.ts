import type { Category } from "../../core/contract/business-types.ts";
import { isUnified } from "../../core/contract/product-types.ts";
import { listedBusinessTypes } from "../../core/contract/unified-business-types.ts";
import type { LedgerEvent } from "./events.ts";
import { drawUnits, grain, product, type Units, units } from "./money.ts";
import { openingOf } from "./profiles.ts";
import { pick, type Random } from "./random.ts";

/** What a bill states, and what it changes its coin's balance by. */
export type Move = {
  readonly type: string;
  readonly coin: string;
  readonly symbol: string;
  readonly amount: Units;
  readonly fee: Units;
  readonly feeByCoupon: Units;
  readonly moved: Units;
};

type Wallet = {
  readonly random: Random;
  readonly balanceOf: (coin: string) => Units;
};

const categories = new Map<string, Category>(
  listedBusinessTypes.map(({ code, category }) => [code, category]),
);

export const categoryOfType = (type: string): Category => categories.get(type) ?? "unclassified";

/** Whether an entry of this type moves the balance. Margin entries shift money inside the account. */
export const movesBalance = (type: string): boolean => categoryOfType(type) !== "margin";

const fills: readonly string[] = ["ORDER_DEALT_IN", "ORDER_DEALT_FROZEN_OUT"];
const conversions: readonly string[] = [
  ...["EXCHANGE_SOURCE_TOKEN_USER_OUT", "EXCHANGE_TARGET_TOKEN_USER_IN"],
];

/** An event's bills, in the order in which they move the balances. */
export function movesOf(event: LedgerEvent, wallet: Wallet): readonly Move[] {
  const { type, coin, symbol, amount } = event;
  if (amount !== undefined) return [plain({ type, coin, amount, symbol })];
  if (fills.includes(type)) return spotFill(wallet);
  return conversions.includes(type) ? conversion(wallet) : single(event, wallet);
}

const plain = (
  move: Pick<Move, "type" | "coin" | "amount"> & Partial<Pick<Move, "symbol" | "fee">>,
): Move => ({ symbol: "", fee: 0n, feeByCoupon: 0n, moved: move.amount, ...move });

/** A bill of one coin. In the spot and margin ledgers of a unified account only fills of orders have fees. */
function single(
  { productType, type, coin, symbol }: LedgerEvent,
  { random, balanceOf }: Wallet,
): readonly Move[] {
  const drawn = drawMovement(random, type, balanceOf(coin), openingOf(coin));
  const hasFee = productType.endsWith("-FUTURES");
  const { amount, fee, feeByCoupon } = hasFee ? drawn : { ...drawn, fee: 0n, feeByCoupon: 0n };
  const moved = movesBalance(type) ? amount + fee : 0n;
  const move = { type, coin, symbol, amount, fee, feeByCoupon, moved };
  const isPaidBeside = isUnified(productType) && feeByCoupon !== 0n && canPay(balanceOf);
  return isPaidBeside ? [move, feeMove(random, symbol)] : [move];
}

/** In a unified account, fees can be paid in this coin. Such a fee is a bill of its own. */
const feeCoin = "BGB";
const canPay = (balanceOf: Wallet["balanceOf"]) => balanceOf(feeCoin) > openingOf(feeCoin) / 100n;
const feeMove = (random: Random, symbol: string): Move => {
  const amount = -drawUnits(random, openingOf(feeCoin) / 90_000n);
  return plain({ type: "ORDER_PLF_FEE_OUT", coin: feeCoin, amount, symbol });
};

const incoming =
  /^trans_from_|_issue$|^tracking_follow_back$|^tracking_trader_income$|_IN$|_IN_|^BORROW$|REFUND$/;
const outgoing =
  /^trans_to_|_recycle$|^bonus_expired$|^tracking_follow_pay$|_OUT$|_OUT_|REPAYMENT$|^LIQ_FEE$|_PAY$/;

/**
 * Draws what an entry moves. The balance after it is exactly `balance + amount + fee`, and never
 * negative. What a coupon paid was never in the balance.
 *
 * @param opening what the coin's wallet began with: entries are some thousandths of it.
 */
export function drawMovement(
  random: Random,
  type: string,
  balance: Units,
  opening: Units,
): Pick<Move, "amount" | "fee" | "feeByCoupon"> {
  const category = categoryOfType(type);
  const fees = drawFees(random, category, opening);
  const amount = drawAmount(random, type, category, opening);
  if (!movesBalance(type) || balance + amount + fees.fee >= 0n) return { amount, ...fees };
  const affordable = outgoing.test(type) ? -(balance / 2n) : -amount;
  return { amount: affordable, fee: 0n, feeByCoupon: 0n };
}

function drawAmount(random: Random, type: string, category: Category, opening: Units): Units {
  const opens = /^open_/i.test(type);
  const isOneWay = /^(buy|sell)(_DEAL)?$/i.test(type);
  if (opens || (isOneWay && random() < 0.5)) return 0n;
  const amount = drawUnits(random, opening / (category === "transfer" ? 40n : 900n));
  if (incoming.test(type)) return amount;
  if (outgoing.test(type)) return -amount;
  return random() < (category === "liquidation" ? 0.95 : 0.48) ? -amount : amount;
}

function drawFees(
  random: Random,
  category: Category,
  opening: Units,
): Pick<Move, "fee" | "feeByCoupon"> {
  if (category !== "trade" && category !== "liquidation") return { fee: 0n, feeByCoupon: 0n };
  const cost = drawUnits(random, opening / 60_000n);
  const draw = random();
  if (draw < 0.06) return { fee: 0n, feeByCoupon: -cost };
  // A maker's rebate is a positive fee.
  return { fee: draw < 0.14 ? (cost / (4n * grain)) * grain : -cost, feeByCoupon: 0n };
}

const pairs = [
  { base: "BTC", quote: "USDT", price: units("64250.1") },
  { base: "ETH", quote: "USDT", price: units("3120.55") },
  // Coin names keep their case; pair names are in upper case.
  { base: "rTOWN", quote: "USDT", price: units("36.284") },
  { base: "SOL", quote: "USDC", price: units("151.07") },
  { base: "ETH", quote: "BTC", price: units("0.048571") },
] as const;

/**
 * A pair's two coins move in one millisecond. The fee of a thousandth is stated beside the amount that contains it, or is a bill
 * of its own.
 */
function spotFill({ random, balanceOf }: Wallet): readonly Move[] {
  const { base, quote, price } = pick(random, pairs);
  const symbol = `${base}${quote}`.toUpperCase();
  const size = drawUnits(random, openingOf(base) / 400n);
  const cost = product(size, price);
  const isBuy = balanceOf(base) < size || (random() < 0.5 && balanceOf(quote) > 2n * cost);
  const isPaidBeside = random() < 0.15 && canPay(balanceOf);
  const fee = isPaidBeside ? 0n : -cost / 1_000n;
  const amount = (isBuy ? -cost : cost) + fee;
  const [got, given] = ["ORDER_DEALT_IN", "ORDER_DEALT_FROZEN_OUT"];
  const moves = [
    plain({ type: isBuy ? got : given, coin: base, amount: isBuy ? size : -size, symbol }),
    plain({ type: isBuy ? given : got, coin: quote, amount, fee, symbol }),
  ];
  // Either order is possible: the two balances are of different coins.
  const shown = random() < 0.5 ? moves : moves.toReversed();
  return isPaidBeside ? [...shown, feeMove(random, symbol)] : shown;
}

function conversion({ random, balanceOf }: Wallet): readonly Move[] {
  const { base, quote, price } = pick(random, pairs);
  const wanted = drawUnits(random, openingOf(base) / 200n);
  const amount = wanted <= balanceOf(base) ? wanted : balanceOf(base) / 2n;
  return [
    plain({ type: "EXCHANGE_SOURCE_TOKEN_USER_OUT", coin: base, amount: -amount }),
    plain({ type: "EXCHANGE_TARGET_TOKEN_USER_IN", coin: quote, amount: product(amount, price) }),
  ];
}
