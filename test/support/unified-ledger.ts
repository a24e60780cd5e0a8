import { type Bill, noPosition } from "../../src/core/contract/bill.ts";
import type { Category } from "../../src/core/contract/business-types.ts";
import {
  type UnifiedProductType,
  unifiedProductTypes,
} from "../../src/core/contract/product-types.ts";
import { unifiedBusinessTypes } from "../../src/core/contract/unified-business-types.ts";
import type { Database } from "../../src/core/postgres/connect.ts";
import { dayMs, epochMs, hourMs } from "../../src/lib/time.ts";
import { snowflake } from "../../src/wings/sandbox/entry.ts";
import { decimalText, drawUnits, type Units, units } from "../../src/wings/sandbox/money.ts";
import { integer, pick, type Random } from "../../src/wings/sandbox/random.ts";
import { shuffled } from "./shuffled.ts";
import { coverLedger, storeBills } from "./stored-ledger.ts";

/** What is not known of unified accounts. */
export type UnifiedHabits = {
  /** Categories, or types, whose amount does not contain the fee. */
  readonly feesBeside?: readonly (Category | string)[];
  /** Categories, or types, whose rows move no balance. Default margin moves. */
  readonly still?: readonly (Category | string)[];
  /** Some rows are dated seconds before they are booked, up to 13, while others are booked. */
  readonly areSomeLate?: boolean;
  /** Each product type counts its ids separately. */
  readonly areIdsReused?: boolean;
};

/** A row of a unified account, with what it does to the balance of its coin. */
export type UnifiedBill = Bill & {
  readonly productType: UnifiedProductType;
  readonly category: Category;
  /** What it does to the balance: without the fee, and the fee. */
  readonly movedAmount: Units;
  readonly movedFee: Units;
};

export const unifiedStart = Date.UTC(2026, 9, 1);
export const unifiedEnd = unifiedStart + 31 * 24 * hourMs;

const coins = ["USDT", "BTC", "BGB", "rTOWN"];
const opening = units("1000");

const usual = ["ORDER_DEALT_IN", "ORDER_DEALT_FROZEN_OUT", "OPEN_LONG", "CLOSE_LONG", "BUY_DEAL"];

/** Which ledger has a type. */
function productTypeOf({ code, category }: Type): UnifiedProductType {
  if (category === "spot" || category === "fee-bills") return "UTA-SPOT";
  if (category === "loan" || category === "interest") return "UTA-MARGIN";
  if (["transfer", "bonus", "copy", "conversion", "unclassified"].includes(category))
    return "UTA-OTHER";
  return code.startsWith("RWA_") ? "UTA-USDC-FUTURES" : "UTA-USDT-FUTURES";
}

/**
 * Rows of every type of a unified account, in true order. Each balance is the one before it of the
 * same coin, in whichever category, plus what the row moves. Up to nine rows share a millisecond,
 * with their ids out of order.
 */
export function unifiedLedger(random: Random, habits: UnifiedHabits = {}): UnifiedBill[] {
  const balances = new Map(coins.map((coin) => [coin, opening]));
  const { feesBeside = [], still = ["margin"] } = habits;
  const isAmong = (list: readonly string[], type: { code: string; category: Category }) =>
    list.includes(type.category) || list.includes(type.code);
  return schedule(random, habits).map(({ type, cTime, billId, productType }) => {
    const coin = pick(random, coins);
    const hasFee = ["spot", "trade", "liquidation"].includes(type.category);
    const fee = hasFee && random() < 0.8 ? -drawUnits(random, units("0.02")) : 0n;
    const principal = /_OPEN_|^OPEN_/.test(type.code) ? 0n : drawn(random, type.code);
    const isStill = isAmong(still, type);
    const amount = isAmong(feesBeside, type) ? principal : principal + fee;
    const moved = isStill ? 0n : principal + fee;
    const balance = (balances.get(coin) ?? 0n) + moved;
    balances.set(coin, balance);
    return {
      billId,
      symbol: productType === "UTA-OTHER" ? null : "BTCUSDT",
      amount: decimalText(amount),
      fee: decimalText(fee),
      feeByCoupon: null,
      businessType: type.code,
      coin,
      balance: random() < 0.01 ? null : decimalText(balance),
      cTime: epochMs(cTime),
      ...positionOf(random, productType),
      extra: null,
      productType,
      category: type.category,
      movedAmount: isStill ? 0n : principal,
      movedFee: isStill ? 0n : fee,
    };
  });
}

const positionOf = (random: Random, productType: UnifiedProductType) =>
  productType === "UTA-OTHER" || random() < 0.3
    ? noPosition
    : {
        positionType: pick(random, ["crossed", "isolated"]),
        positionAmount: decimalText(drawUnits(random, units("3"))),
        positionBalance: decimalText(drawUnits(random, units("30"))),
      };

const drawn = (random: Random, code: string): Units => {
  const amount = drawUnits(random, units("4"));
  return /_OUT$|REPAYMENT|_SHORT$/.test(code) ? -amount : amount;
};

type Type = { readonly code: string; readonly category: Category };

function schedule(random: Random, { areIdsReused = false, areSomeLate = false }: UnifiedHabits) {
  const types = new Map<string, Type>(unifiedBusinessTypes.map((type) => [type.code, type]));
  const unheard: Type = { code: "VAULT_ADJUST", category: "unclassified" };
  const all = [...types.values(), unheard];
  // Enough of each type, alone in its millisecond, to learn from.
  const groups = shuffled(random, [
    ...[...all, ...all, ...all].map((type) => [type]),
    ...Array.from({ length: 40 }, () => [types.get(pick(random, usual)) ?? unheard]),
    ...Array.from({ length: 12 }, () =>
      Array.from({ length: integer(random, 2, 9) }, () => pick(random, all)),
    ),
  ]);
  let cTime = unifiedStart;
  return groups.flatMap((group) => {
    const isSoon = areSomeLate && random() < 0.6;
    cTime += isSoon ? integer(random, 1, 900) : integer(random, 1_000, hourMs / 2);
    const lateMs = integer(random, 1_000, random() < 0.2 ? 13_000 : 2_000);
    const dated = areSomeLate && random() < 0.25 ? cTime - lateMs : cTime;
    // Funding is due at the start of a day, not before its end.
    const isSameDay = Math.floor(dated / dayMs) === Math.floor(cTime / dayMs);
    const counters = shuffled(
      random,
      group.map((_, index) => index),
    );
    const perProductType = new Map<UnifiedProductType, number>();
    return group.map((type, index) => {
      const productType = productTypeOf(type);
      const own = perProductType.get(productType) ?? 0;
      perProductType.set(productType, own + 1);
      const billId = snowflake(cTime, areIdsReused ? own : (counters[index] ?? 0));
      return { type, cTime: isSameDay ? dated : cTime, productType, billId };
    });
  });
}

/**
 * Stores it as the sync does. All of its time is covered in all categories, except those that are
 * left out.
 */
export async function storeUnified(
  db: Database,
  account: string,
  bills: readonly UnifiedBill[],
  { uncovered = [] }: { readonly uncovered?: readonly UnifiedProductType[] } = {},
): Promise<void> {
  for (const productType of unifiedProductTypes) {
    const ledger = { account, productType };
    const isOfType = (bill: UnifiedBill) => bill.productType === productType;
    await storeBills(db, ledger, bills.filter(isOfType));
    if (!uncovered.includes(productType)) await coverLedger(db, ledger, unifiedStart, unifiedEnd);
  }
}
