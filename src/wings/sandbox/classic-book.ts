import type { ClassicProductType } from "../../core/contract/product-types.ts";
import { epochMs } from "../../lib/time.ts";
import {
  type Book,
  drawMovement,
  type LedgerBill,
  movesBalance,
  snowflake,
  wireBill,
} from "./entry.ts";
import type { Units } from "./money.ts";
import { profiles } from "./profiles.ts";
import { integer, type Random, seededRandom } from "./random.ts";
import { type FutureBill, type ScheduleOptions, schedule, withEvents } from "./schedule.ts";

export type ClassicBookOptions = Omit<ScheduleOptions, "random" | "profile" | "productType"> & {
  readonly seed: string | number;
  /** Makes an id's counter specific to the account. */
  readonly counterOf: (counter: number) => number;
};

/** A product type's ledger, and its balance of each coin. */
export type ClassicBook = Book & { readonly productType: ClassicProductType };

export function classicBook(
  productType: ClassicProductType,
  { seed, counterOf, ...others }: ClassicBookOptions,
): ClassicBook {
  const { now, from, to } = others;
  const options = { ...others, productType };
  // Each product type has its own random sequence: which other types are wanted changes nothing in
  // this one.
  const random = seededRandom(`${seed}/${productType}`);
  const profile = profiles[productType];
  const drawn = schedule({ ...options, random, profile });
  const events = seededRandom(`${seed}/${productType}/events`);
  const all = withEvents(drawn, { seed, productType, now, from, to });
  const openings = new Map(profile.coins.map(({ coin, opening }) => [coin, opening]));
  const balances = new Map<string, Units>();
  const nextCounter = counters(random);
  let last = { cTime: Number.NaN, counter: 0 };
  const bills: LedgerBill[] = [];

  function book(bill: FutureBill): void {
    const { businessType, coin, cTime, lateMs, isEvent = false } = bill;
    const draws = isEvent ? events : random;
    const opening = openings.get(coin) ?? 0n;
    const before = balances.get(coin);
    const amount = bill.amount ?? (before === undefined ? opening : undefined);
    const movement =
      amount === undefined
        ? drawMovement(draws, businessType, before ?? 0n, opening)
        : { amount, fee: 0n, feeByCoupon: 0n };
    const moved = movesBalance(businessType) ? movement.amount + movement.fee : 0n;
    const balance = (before ?? 0n) + moved;
    balances.set(coin, balance);
    const drawn = isEvent ? 0 : nextCounter(cTime);
    // An account that becomes unified moves all coins out in one millisecond, possibly that of a
    // drawn bill.
    const counter = last.cTime === cTime ? Math.max(drawn, last.counter + 1) : drawn;
    last = { cTime, counter };
    const billId = snowflake(cTime, counterOf(counter));
    bills.push({
      billId,
      cTime: epochMs(cTime),
      visibleAt: epochMs(cTime + lateMs),
      businessType,
      coin,
      row: wireBill(draws, bill, billId, movement, balance),
    });
  }

  return {
    productType,
    bills: { [productType]: bills },
    balances,
    play(span) {
      for (const bill of all) if (bill.cTime >= span.from && bill.cTime < span.to) book(bill);
    },
    transfer: (cTime, coin, amount) =>
      book({
        cTime,
        businessType: amount < 0n ? "trans_to_exchange" : "trans_from_exchange",
        coin,
        symbol: "",
        lateMs: 0,
        isEvent: true,
        amount,
      }),
  };
}

/**
 * Counters within a millisecond. Half of them begin at 0, so that product types share ids where
 * they share a millisecond: it is not known whether real ids are unique across types.
 */
function counters(random: Random): (cTime: number) => number {
  let last = { cTime: Number.NaN, counter: 0 };
  return (cTime) => {
    const counter =
      last.cTime === cTime
        ? last.counter + integer(random, 1, 3)
        : random() < 0.5
          ? 0
          : integer(random, 0, 2 ** 11);
    last = { cTime, counter };
    return counter;
  };
}
