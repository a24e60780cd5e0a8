import { pageSizeMax } from "../../src/contract/account-bills.ts";
import { billsApiOf } from "../../src/contract/bills-api.ts";
import {
  classicProductTypes,
  type ProductType,
  productTypes,
} from "../../src/contract/product-types.ts";
import { type EpochMs, epochMs } from "../../src/contract/time.ts";
import type { LedgerBill } from "../../src/sandbox/ledger-bill.ts";
import { integer, pick, type Random, seededRandom } from "../../src/sandbox/random.ts";
import { snowflake } from "../../src/sandbox/snowflake.ts";
import { type Interval, interval, split } from "../../src/sync/intervals.ts";
import { horizonAt } from "../../src/sync/plan.ts";

const { windowMaxMs } = billsApiOf("USDT-FUTURES");

export type BillsOf = Readonly<Record<ProductType, readonly LedgerBill[]>>;

/** How a ledger's bills lie in its six product types and their 13 windows. */
export type Shape = "uneven" | "one heavy week";

export const windowsAt = (now: EpochMs): readonly Interval[] =>
  interval(horizonAt(now), now).flatMap((span) => split(span, windowMaxMs));

/** So many bills, the same for the same shape, count and time. */
export function makeBills(shape: Shape, count: number, now: EpochMs): BillsOf {
  const random = seededRandom(`${shape} ${count}`);
  const cells = classicProductTypes.flatMap((productType, type) =>
    windowsAt(now).map((window, week) => ({
      productType,
      window,
      weight: shape === "uneven" ? random() ** 2 / (type + 1) : isHeavy(type, week) ? 19 : 1 / 77,
    })),
  );
  const whole = cells.reduce((sum, { weight }) => sum + weight, 0);
  const bills = Object.fromEntries(
    productTypes.map((type): [ProductType, LedgerBill[]] => [type, []]),
  );
  let drawn = 0;
  let weightSoFar = 0;
  for (const { productType, window, weight } of cells) {
    weightSoFar += weight;
    const upTo = Math.round((count * weightSoFar) / whole);
    bills[productType]?.push(...billsIn(random, window, upTo - drawn));
    drawn = upTo;
  }
  return bills as Record<ProductType, LedgerBill[]>;
}

const isHeavy = (type: number, week: number) => type === 0 && week === 8;

/**
 * What no client can do without, that proves what it reads: the pages with bills, and for each
 * window the two answers, to two questions, that say that nothing is left.
 */
export function necessaryRequests(bills: BillsOf, now: EpochMs): number {
  let requests = 0;
  for (const { from, to } of windowsAt(now)) {
    for (const productType of productTypes) {
      const inside = bills[productType].filter(({ cTime }) => cTime >= from && cTime < to);
      requests += Math.ceil(inside.length / pageSizeMax) + 2;
    }
  }
  return requests;
}

/** Half of them in a tenth of the window, some with others in their millisecond. */
function billsIn(random: Random, { from, to }: Interval, count: number): readonly LedgerBill[] {
  const length = to - from;
  const busyFrom = from + 0.8 * length * random();
  const times = Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? Math.floor(busyFrom + 0.1 * length * random())
      : integer(random, from + 60_000, to - 60_000),
  );
  return times.sort((a, b) => a - b).map((cTime, index) => bill(random, epochMs(cTime), index));
}

const businessTypes = ["open_long", "close_long", "contract_settle_fee", "buy", "sell"] as const;

function bill(random: Random, cTime: EpochMs, index: number): LedgerBill {
  const billId = snowflake(cTime, index);
  const businessType = pick(random, businessTypes);
  const row = {
    billId,
    symbol: pick(random, ["BTCUSDT", "ETHUSDT", "SOLUSDT"]),
    amount: decimal(random),
    fee: `-0.${integer(random, 1, 99_999_999)}`,
    feeByCoupon: "",
    businessType,
    coin: "USDT",
    balance: decimal(random),
    cTime: String(cTime),
  };
  return { billId, cTime, visibleAt: cTime, businessType, coin: "USDT", row };
}

const decimal = (random: Random): string =>
  `${integer(random, 1, 99_999)}.${integer(random, 10_000_000, 99_999_999)}`;
