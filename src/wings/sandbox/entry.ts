import type { Category } from "../../core/contract/business-types.ts";
import type { RawNumber } from "../../core/contract/json.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import { listedBusinessTypes } from "../../core/contract/unified-business-types.ts";
import type { EpochMs } from "../../lib/time.ts";
import { decimalText, drawUnits, type Units } from "./money.ts";
import { integer, pick, type Random } from "./random.ts";
import type { FutureBill } from "./schedule.ts";

/** A bill of the ledger: its row as served, and what the sandbox knows about it. */
export type LedgerBill = {
  readonly billId: string;
  readonly cTime: EpochMs;
  /** When the exchange begins to serve it: its cTime, or up to 10 minutes later. */
  readonly visibleAt: EpochMs;
  readonly businessType: string;
  readonly coin: string;
  /** An object as the API sends it; any value if the row was broken on purpose. */
  readonly row: unknown;
  /** How the row was broken on purpose; undefined if it was not. */
  readonly broken?: string;
  /** Of a withdrawal: its record as the API sends it. */
  readonly withdrawal?: {
    readonly orderId: string;
    readonly madeAt: number;
    readonly record: WireBill;
  };
  /** Other content that is served from a time on. */
  readonly restated?: { readonly at: EpochMs; readonly row: WireBill };
};

/** The bills of one wallet: of a classic product type, or of a unified account. */
export type Book = {
  /** By product type, in the order in which the balances moved. */
  readonly bills: Readonly<Partial<Record<ProductType, readonly LedgerBill[]>>>;
  /** Of each coin that was ever booked, in units of 1e-8, or of 1e-16 in a unified account. */
  readonly balances: ReadonlyMap<string, Units>;
  /** Books the bills of `[from, to)`, in ms since the Unix epoch. */
  play(span: { readonly from: number; readonly to: number }): void;
  /** Books a transfer that is not drawn: in, or out if the amount is negative. */
  transfer(at: number, coin: string, amount: Units): void;
};

/** A bill as the exchange sends it. All values are text, except in undocumented fields. */
export type WireBill = Readonly<Record<string, unknown>>;

type Movement = { readonly amount: Units; readonly fee: Units; readonly feeByCoupon: Units };

const categories = new Map<string, Category>(
  listedBusinessTypes.map(({ code, category }) => [code, category]),
);

const incoming = /^trans_from_|_issue$|^tracking_follow_back$|^tracking_trader_income$/;
const outgoing = /^trans_to_|_recycle$|^bonus_expired$|^tracking_follow_pay$/;

/**
 * Whether an entry of this type moves the balance. Margin entries shift money inside the account.
 */
export const movesBalance = (businessType: string): boolean =>
  categories.get(businessType) !== "margin";

/**
 * Draws what an entry moves. The balance after it is exactly `balance + amount + fee`, and never
 * negative. What a coupon paid was never in the balance.
 *
 * @param opening the coin's first transfer in: entries are some thousandths of it.
 */
export function drawMovement(
  random: Random,
  businessType: string,
  balance: Units,
  opening: Units,
): Movement {
  const category = categories.get(businessType) ?? "unclassified";
  const fees = drawFees(random, category, opening);
  const amount = drawAmount(random, businessType, category, opening);
  if (!movesBalance(businessType) || balance + amount + fees.fee >= 0n) return { amount, ...fees };
  const affordable = outgoing.test(businessType) ? -(balance / 2n) : -amount;
  return { amount: affordable, fee: 0n, feeByCoupon: 0n };
}

function drawAmount(
  random: Random,
  businessType: string,
  category: Category,
  opening: Units,
): Units {
  const opens = businessType.startsWith("open_");
  const oneWay = businessType === "buy" || businessType === "sell";
  if (opens || (oneWay && random() < 0.5)) return 0n;
  const amount = drawUnits(random, opening / (category === "transfer" ? 40n : 900n));
  if (incoming.test(businessType)) return amount;
  if (outgoing.test(businessType)) return -amount;
  return random() < (category === "liquidation" ? 0.95 : 0.48) ? -amount : amount;
}

function drawFees(random: Random, category: Category, opening: Units): Omit<Movement, "amount"> {
  if (category !== "trade" && category !== "liquidation") return { fee: 0n, feeByCoupon: 0n };
  const cost = drawUnits(random, opening / 60_000n);
  const draw = random();
  if (draw < 0.06) return { fee: 0n, feeByCoupon: -cost };
  // A maker's rebate is a positive fee.
  return { fee: draw < 0.14 ? cost / 4n : -cost, feeByCoupon: 0n };
}

/** The entry as a row of an answer, with oddities that real answers show. */
export function wireBill(
  random: Random,
  moment: FutureBill,
  billId: string,
  movement: Movement,
  balance: Units,
): WireBill {
  const category = categories.get(moment.businessType) ?? "unclassified";
  const onSymbol = category !== "transfer" && category !== "bonus" && category !== "conversion";
  return {
    billId,
    symbol: onSymbol ? moment.symbol : "",
    amount: spelled(random, movement.amount),
    fee: spelled(random, movement.fee),
    feeByCoupon: movement.feeByCoupon === 0n ? noCoupon(random) : decimalText(movement.feeByCoupon),
    businessType: moment.businessType,
    coin: moment.coin,
    ...shownBalance(random, balance),
    cTime: String(moment.cTime),
    ...undocumentedFields(random),
  };
}

const spelled = (random: Random, amount: Units): string =>
  decimalText(amount, random() < 0.15 ? "all" : "needed");

const noCoupon = (random: Random): string => (random() < 0.3 ? "0" : "");

/** In 2023 and 2024 some answers lacked the balance. */
function shownBalance(random: Random, balance: Units): { balance?: string } {
  const draw = random();
  if (draw < 0.008) return {};
  return { balance: draw < 0.014 ? "" : spelled(random, balance) };
}

/** Adds undocumented fields to few rows. A program must keep them digit by digit. */
export function undocumentedFields(random: Random): Readonly<Record<string, unknown>> {
  if (random() >= 0.02) return {};
  const orderId = String(10n ** 18n + drawUnits(random, 10n ** 17n));
  const fields: readonly Readonly<Record<string, unknown>>[] = [
    { posMode: "hedge_mode", note: "naïve ‘quote’ \\ 注文 🧾" },
    { detail: { orderId, legs: [{ side: "long", open: true }, null], empty: {} } },
    { execPrice: number(`${integer(random, 1, 99_999)}.5000`) },
    { orderId: number(orderId), weight: number("1e-7") },
  ];
  return pick(random, fields);
}

/** A JSON number with exactly these digits, which a JavaScript number would lose. */
const number = (digits: string): RawNumber => JSON.rawJSON(digits);

// (id >> 22) + this is the bill's time, for all public ids of futures bills.
const startMs = 1_435_725_920_677;
const counterBits = 22n;
const accountBits = 10;

/** An id like the exchange's: time and counter, larger than 2^53, as decimal text. */
export const snowflake = (time: number, counter: number): string =>
  String((BigInt(time - startMs) << counterBits) | BigInt(counter));

/** When an id was made, in ms since the epoch. */
export const snowflakeTime = (id: string): number => Number(BigInt(id) >> counterBits) + startMs;

/**
 * A counter whose low bits are specific to the account: in all accounts, funding falls on the same
 * millisecond.
 */
export const accountCounter = (counter: number, account: number): number =>
  (counter << accountBits) | account;
