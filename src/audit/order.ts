import type { ProductType } from "../contract/product-types.ts";
import { chainedOrder, type Step } from "./booking-order.ts";
import { placesIn } from "./decimals.ts";
import type { TypeTally } from "./tallies.ts";

/** A bill of a chain. Amounts are in units of the check's last decimal place, times in ms since the epoch. */
export type ChainBill = {
  readonly productType: ProductType;
  readonly billId: string;
  readonly time: number;
  /** Its time, or the later one at which it is known to be booked. */
  at: number;
  /** Its learned place among the bills of that time; 0 where their ids give the order. */
  place: number;
  readonly type: TypeTally;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly coupon: bigint;
  /** What it moves the balance by under its type's rule. */
  readonly moved: bigint;
  /** The balance after it; undefined where none was served. */
  readonly after: bigint | undefined;
  /** Its time, amount, fee, coupon and balance as text, with spaces between; it may have no balance. */
  readonly numbers: string;
};

/** How many decimal places the amounts have that move the balance, as text. */
export function movedPlaces({ numbers, type: { rule } }: ChainBill): number {
  const [, amount = "", fee = "", coupon = ""] = numbers.split(" ");
  return Math.max(
    rule.countsAmount ? placesIn(amount) : 0,
    rule.countsFee ? placesIn(fee) : 0,
    rule.countsCoupon ? placesIn(coupon) : 0,
  );
}

/** How many decimal places the balance has, as text. */
export const balancePlaces = ({ numbers }: ChainBill): number =>
  placesIn(numbers.split(" ")[4] ?? "");

type Id = Pick<ChainBill, "productType" | "billId">;

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Ids are compared as src/db/sql/chain-order.ts does. */
const byId = (a: Id, b: Id): number =>
  a.billId.length - b.billId.length ||
  compare(a.billId, b.billId) ||
  compare(a.productType, b.productType);

/** The order in which bills move the balance: see src/db/sql/chain-order.ts. */
export const inOrder = (a: ChainBill, b: ChainBill): number =>
  a.at - b.at || a.place - b.place || byId(a, b);

/** The order of times and ids, without what was learned. */
export const byTime = (a: ChainBill, b: ChainBill): number => a.time - b.time || byId(a, b);

/** Bills that may have changed places, and the balances beside them. */
export type BillGroup = {
  readonly bills: readonly ChainBill[];
  readonly start: bigint | undefined;
  readonly end: bigint | undefined;
  readonly tolerance: bigint;
  readonly bookedMaxMs: number;
};

/** A bill's place, and when it was booked. */
export type Place = { readonly bill: ChainBill; readonly place: number; readonly at: number };

/** Names a bill in its group: two categories of a unified account may have the same id. */
const keyOf = ({ productType, billId }: Id): string => `${productType}/${billId}`;

/** The places of those bills of a group that balances show to be elsewhere than they are now. */
export function movesOf({
  bills,
  start,
  end,
  tolerance,
  bookedMaxMs,
}: BillGroup): readonly Place[] {
  const stepOf = (bill: ChainBill): Step => ({
    billId: keyOf(bill),
    time: bill.time,
    moved: bill.moved,
    after: bill.after,
  });
  const order = chainedOrder({
    steps: bills.toSorted(byTime).map(stepOf),
    ...(bookedMaxMs > 0 && { byId: bills.toSorted(byId).map(stepOf) }),
    start,
    end,
    tolerance,
    bookedMaxMs,
  });
  const named = new Map(bills.map((bill) => [keyOf(bill), bill]));
  let latest = Number.NEGATIVE_INFINITY;
  const booked = order.flatMap((key) => {
    const bill = named.get(key);
    if (bill === undefined) return [];
    latest = Math.max(latest, bill.time);
    return [{ bill, at: latest }];
  });
  const places = [...Map.groupBy(booked, ({ at }) => at).values()].flatMap((together) => {
    const isById = together.every(({ bill }, index) => {
      const before = together[index - 1];
      return before === undefined || byId(before.bill, bill) < 0;
    });
    return together.map(({ bill, at }, index) => ({ bill, at, place: isById ? 0 : index + 1 }));
  });
  return places.filter(({ bill, at, place }) => bill.at !== at || bill.place !== place);
}
