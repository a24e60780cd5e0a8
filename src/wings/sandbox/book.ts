import type { RawNumber } from "../../core/contract/json.ts";
import {
  categoryOf,
  isUnified,
  type ProductType,
  walletOf,
} from "../../core/contract/product-types.ts";
import { epochMs } from "../../lib/time.ts";
import { type LedgerBill, snowflakes, type WireBill } from "./entry.ts";
import { bookedAt, type EventOptions, type LedgerEvent, ledgerEvents } from "./events.ts";
import { decimalText, drawUnits, type Units, units } from "./money.ts";
import { categoryOfType, type Move, movesOf } from "./moves.ts";
import { type DrawnType, profiles } from "./profiles.ts";
import { integer, pick, type Random, seededRandom } from "./random.ts";

/** The bills of one wallet: of a classic product type, or of a unified account. */
export type Book = {
  /** By product type, in the order in which the balances moved. */
  readonly bills: Readonly<Partial<Record<ProductType, readonly LedgerBill[]>>>;
  /** The coins in which its bills are drawn. */
  readonly coins: ReadonlySet<string>;
  /** Of each coin that was ever booked. */
  readonly balances: ReadonlyMap<string, Units>;
  /** Books the bills of `[from, to)`, in ms since the Unix epoch. */
  play(span: { readonly from: number; readonly to: number }): void;
  /** Books a transfer that is not drawn: in, or out if the amount is negative. */
  transfer(at: number, coin: string, amount: Units): void;
};

type BookOptions = EventOptions & { readonly account: number };

/** The empty book of a wallet's product types, one at least. */
export function openBook(
  productTypes: readonly [DrawnType, ...DrawnType[]],
  options: BookOptions,
): Book {
  const isOfUnified = isUnified(productTypes[0]);
  const bills = new Map<DrawnType, LedgerBill[]>(productTypes.map((type) => [type, []]));
  const balances = new Map<string, Units>();
  const balanceOf = (coin: string): Units => balances.get(coin) ?? 0n;
  const random = seededRandom(`${options.seed}/${walletOf(productTypes[0])}`);
  const idAt = snowflakes(options.account);
  const events = productTypes
    .flatMap((productType) => ledgerEvents(productType, options))
    .toSorted((a, b) => bookedAt(a) - bookedAt(b));
  const rowOf = isOfUnified ? unifiedRow : classicRow;

  function book(event: LedgerEvent): void {
    const { productType, at, bookedMs, lateMs } = event;
    for (const move of movesOf(event, { random, balanceOf })) {
      const balance = balanceOf(move.coin) + move.moved;
      balances.set(move.coin, balance);
      const billId = idAt(bookedAt(event));
      bills.get(productType)?.push({
        billId,
        cTime: epochMs(at),
        visibleAt: epochMs(at + Math.max(bookedMs, lateMs)),
        businessType: move.type,
        coin: move.coin,
        row: { ...rowOf(random, event, move, billId, balance), ...undocumentedFields(random) },
      });
    }
  }

  return {
    bills: Object.fromEntries(bills),
    balances,
    coins: new Set(
      productTypes.flatMap((type) => profiles[type].instruments.map(({ coin }) => coin)),
    ),
    play(span) {
      for (const event of events) if (event.at >= span.from && event.at < span.to) book(event);
    },
    transfer(at, coin, amount) {
      const [arrive, leave] = isOfUnified
        ? ["TRANSFER_IN", "TRANSFER_OUT"]
        : ["trans_from_exchange", "trans_to_exchange"];
      book({
        ...{ at, bookedMs: 0, lateMs: 0, coin, amount, symbol: "" },
        productType: isOfUnified ? "UTA-OTHER" : productTypes[0],
        type: amount < 0n ? leave : arrive,
      });
    },
  };
}

// Rows as the exchange sends them, in the order of its fields, with oddities that real answers show.

function classicRow(
  random: Random,
  { at }: LedgerEvent,
  { type, coin, symbol, amount, fee, feeByCoupon }: Move,
  billId: string,
  balance: Units,
): WireBill {
  const onSymbol = !["transfer", "bonus", "conversion"].includes(categoryOfType(type));
  return {
    billId,
    symbol: onSymbol ? symbol : "",
    amount: spelled(random, amount),
    fee: spelled(random, fee),
    feeByCoupon: feeByCoupon === 0n ? pick(random, ["", "", "0"]) : decimalText(feeByCoupon),
    businessType: type,
    coin,
    ...shownBalance(random, balance),
    cTime: String(at),
  };
}

function unifiedRow(
  random: Random,
  { productType, at }: LedgerEvent,
  { type, coin, symbol, amount, fee }: Move,
  id: string,
  balance: Units,
): WireBill {
  const category = categoryOf(productType as Parameters<typeof categoryOf>[0]);
  return {
    // The documentation's sample writes "Margin".
    category: category === "MARGIN" && random() < 0.3 ? "Margin" : category,
    id,
    ...(symbol === "" && random() < 0.5 ? {} : { symbol }),
    coin,
    type,
    amount: spelled(random, amount),
    fee: spelled(random, fee),
    ...positionOf(random, productType),
    ...shownBalance(random, balance),
    ts: String(at),
  };
}

const spelled = (random: Random, amount: Units): string =>
  decimalText(amount, random() < 0.15 ? "eight" : "needed");

/** In 2023 and 2024 some answers lacked the balance. */
function shownBalance(random: Random, balance: Units): { balance?: string } {
  const draw = random();
  if (draw < 0.006) return {};
  return { balance: draw < 0.012 ? "" : spelled(random, balance) };
}

function positionOf(random: Random, productType: DrawnType): WireBill {
  if (productType === "UTA-OTHER")
    return { positionType: "", positionAmount: "", positionBalance: "" };
  if (!productType.endsWith("-FUTURES") || random() < 0.75)
    return { positionType: "crossed", positionAmount: "0", positionBalance: "0" };
  const margin = drawUnits(random, units("1000"));
  const change = random() < 0.5 ? -margin / 3n : margin / 3n;
  return {
    positionType: "isolated",
    positionAmount: spelled(random, change),
    positionBalance: spelled(random, margin),
  };
}

/** Adds undocumented fields to few rows. A program must keep them digit by digit. */
function undocumentedFields(random: Random): WireBill {
  if (random() >= 0.02) return {};
  const orderId = String(10n ** 18n + BigInt(integer(random, 0, 2 ** 50)));
  const fields: readonly WireBill[] = [
    { posMode: "hedge_mode", note: "naïve ‘quote’ \\ 注文 🧾" },
    { detail: { orderId, legs: [{ side: "long", open: true }, null], empty: {} } },
    { execPrice: number(`${integer(random, 1, 99_999)}.5000`) },
    { orderId: number(orderId), weight: number("1e-7") },
  ];
  return pick(random, fields);
}

/** A JSON number with exactly these digits, which a JavaScript number would lose. */
const number = (digits: string): RawNumber => JSON.rawJSON(digits);
