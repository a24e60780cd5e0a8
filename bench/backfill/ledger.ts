import { pageSizeMax } from "../../src/core/contract/account-bills.ts";
import { billsApiOf } from "../../src/core/contract/bills-api.ts";
import {
  categoryOf,
  classicProductTypes,
  isUnified,
  type ProductType,
  productTypes,
  unifiedProductTypes,
} from "../../src/core/contract/product-types.ts";
import { type Interval, interval, split } from "../../src/core/words/intervals.ts";
import { horizonAt } from "../../src/core/words/plan.ts";
import { dayMs, type EpochMs, epochMs } from "../../src/lib/time.ts";
import { type LedgerBill, snowflake } from "../../src/wings/sandbox/entry.ts";
import { integer, pick, type Random, seededRandom } from "../../src/wings/sandbox/random.ts";

type BillsOf = Readonly<Record<ProductType, readonly LedgerBill[]>>;

/** Each product type of a classic account has 13 windows, one of a unified account 3. */
export type Kind = "classic" | "unified";

/**
 * How a ledger's bills are spread over its windows; dense, one has most of them. A later sync reads the days since the one before it: each product
 * type has one window, and the first has all bills.
 */
export type Shape = "spread" | "dense" | "later";

export const laterDays = 6;

const productTypesOf = (kind: Kind): readonly ProductType[] =>
  kind === "classic" ? classicProductTypes : unifiedProductTypes;

function windowsAt(now: EpochMs, kind: Kind, shape: Shape): readonly Interval[] {
  const { windowMaxMs } = billsApiOf(kind === "classic" ? "USDT-FUTURES" : "UTA-SPOT");
  const from = shape === "later" ? now - laterDays * dayMs : horizonAt(now);
  return interval(from, now).flatMap((span) => split(span, windowMaxMs));
}

/** Makes this many bills, the same ones for the same shape, count and time. */
export function makeBills(kind: Kind, shape: Shape, count: number, now: EpochMs): BillsOf {
  const random = seededRandom(`${shape} ${count}`);
  const windows = windowsAt(now, kind, shape);
  const heavy = Math.floor((2 * windows.length) / 3);
  const weightOf = (type: number, isHeavy: boolean): number => {
    if (shape === "spread") return random() ** 2 / (type + 1);
    if (type === 0 && isHeavy) return 19;
    return shape === "later" ? 0 : 1 / (6 * windows.length - 1);
  };
  const cells = productTypesOf(kind).flatMap((productType, type) =>
    windows.map((window, index) => ({
      productType,
      window,
      weight: weightOf(type, index === heavy),
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
    // Not `push(...)`: a dense window has more bills than a call can take arguments.
    const drawnBills = billsIn(random, productType, window, upTo - drawn);
    bills[productType] = [...(bills[productType] ?? []), ...drawnBills];
    drawn = upTo;
  }
  return bills as Record<ProductType, LedgerBill[]>;
}

/**
 * The number of requests that any client needs to prove what it reads: one for each page with
 * bills, and two for each window, whose answers show that nothing is left.
 */
export function necessaryRequests(
  { kind, shape }: { readonly kind: Kind; readonly shape: Shape },
  bills: BillsOf,
  now: EpochMs,
): number {
  let requests = 0;
  for (const { from, to } of windowsAt(now, kind, shape)) {
    for (const productType of productTypesOf(kind)) {
      const inside = bills[productType].filter(({ cTime }) => cTime >= from && cTime < to);
      requests += Math.ceil(inside.length / pageSizeMax) + 2;
    }
  }
  return requests;
}

/** Half of the bills are in a tenth of the window, some of them in the same millisecond. */
function billsIn(
  random: Random,
  productType: ProductType,
  { from, to }: Interval,
  count: number,
): readonly LedgerBill[] {
  const length = to - from;
  const busyFrom = from + 0.8 * length * random();
  const times = Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? Math.floor(busyFrom + 0.1 * length * random())
      : integer(random, from + 60_000, to - 60_000),
  );
  return times
    .sort((a, b) => a - b)
    .map((cTime, index) => bill(random, productType, epochMs(cTime), index));
}

const businessTypes = ["open_long", "close_long", "contract_settle_fee", "buy", "sell"] as const;

function bill(random: Random, productType: ProductType, cTime: EpochMs, index: number): LedgerBill {
  const billId = snowflake(cTime, index);
  const businessType = pick(random, businessTypes);
  const values = {
    symbol: pick(random, ["BTCUSDT", "ETHUSDT", "SOLUSDT"]),
    amount: decimal(random),
    fee: `-0.${integer(random, 1, 99_999_999)}`,
    coin: "USDT",
    balance: decimal(random),
  };
  const row = isUnified(productType)
    ? {
        ...values,
        category: categoryOf(productType),
        id: billId,
        type: businessType.toUpperCase(),
        positionType: "crossed",
        positionAmount: "0",
        positionBalance: "0",
        ts: String(cTime),
      }
    : { ...values, billId, businessType, feeByCoupon: "", cTime: String(cTime) };
  return { billId, cTime, visibleAt: cTime, businessType, coin: "USDT", row };
}

const decimal = (random: Random): string =>
  `${integer(random, 1, 99_999)}.${integer(random, 10_000_000, 99_999_999)}`;
