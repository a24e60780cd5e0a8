import {
  classicProductTypes,
  isUnified,
  type ProductType,
  productTypes,
} from "../contract/product-types.ts";
import { dayMs, type EpochMs, epochMs } from "../contract/time.ts";
import { drawMovement, movesBalance, type WireBill, wireBill } from "./entry.ts";
import { withEvents } from "./events.ts";
import type { Units } from "./money.ts";
import { type Profile, profiles } from "./profiles.ts";
import { integer, type Random, seededRandom } from "./random.ts";
import { type Moment, schedule } from "./schedule.ts";

// (billId >> 22) + this == cTime on all public ids of futures bills.
const snowflakeStartMs = 1_435_725_920_677;
const counterBits = 22n;

/** A bill of the ledger: the row as it is served, and what the sandbox knows of it. */
export type LedgerBill = {
  readonly billId: string;
  readonly cTime: EpochMs;
  /** When the exchange begins to serve it: its cTime, or up to 10 minutes later. */
  readonly visibleAt: EpochMs;
  readonly businessType: string;
  readonly coin: string;
  /** An object as the API sends it; anything at all where the row was broken on purpose. */
  readonly row: unknown;
  /** Set where the row was broken on purpose, with how. */
  readonly broken?: string;
  /** Another content, served from a time on. */
  readonly restated?: { readonly at: EpochMs; readonly row: WireBill };
};

export type Ledger = {
  readonly now: EpochMs;
  /** By product type, oldest first: in the order in which the balance moved. */
  readonly bills: Readonly<Record<ProductType, readonly LedgerBill[]>>;
};

export type LedgerOptions = {
  readonly seed: string | number;
  /** When the ledger is opened, milliseconds since the Unix epoch. */
  readonly now: number;
  /** Those that have bills. Default all six. */
  readonly productTypes?: readonly ProductType[];
  /** How far the ledger reaches back, and on into the future. Default 100 and 2. */
  readonly days?: number;
  readonly futureDays?: number;
  /** Factor on the number of trades. Default 1: see profiles.ts. */
  readonly density?: number;
  /**
   * Moments that have a bill each, and one in the millisecond before and after. Default every
   * seventh day from the horizon on.
   */
  readonly edges?: readonly number[];
  /** Which of an exchange's accounts it is of, below 1,024: no two of them share an id. Default 0. */
  readonly account?: number;
};

/**
 * A ledger that adds up: per product type and coin each balance is the one before plus amount
 * plus fee, to the last digit. The same options give the same ledger, letter for letter.
 */
export function makeLedger(options: LedgerOptions): Ledger {
  const { seed, days = 100, futureDays = 2, density = 1, account = 0 } = options;
  const now = Math.floor(options.now);
  const wanted = options.productTypes ?? classicProductTypes;
  const bills = Object.fromEntries(
    productTypes.map((productType): [ProductType, LedgerBill[]] => {
      if (isUnified(productType) || !wanted.includes(productType)) return [productType, []];
      // Its own sequence: which other types are wanted changes nothing in this one.
      const random = seededRandom(`${seed}/${productType}`);
      const profile = profiles[productType];
      const from = now - days * dayMs;
      const to = now + futureDays * dayMs;
      const moments = schedule({
        random,
        productType,
        profile,
        now,
        from,
        to,
        density,
        everyType: productType === wanted[0],
        ...(options.edges && { edges: options.edges }),
      });
      const events = seededRandom(`${seed}/${productType}/events`);
      const all = withEvents(moments, { seed, productType, now, from, to });
      return [productType, book({ random, events }, profile, all, account)];
    }),
  ) as Record<ProductType, LedgerBill[]>;
  return { now: epochMs(now), bills };
}

/** Books the moments one after the other, carrying the balance of each coin along. */
function book(
  draws: { readonly random: Random; readonly events: Random },
  profile: Profile,
  moments: readonly Moment[],
  account: number,
): LedgerBill[] {
  const openings = new Map(profile.coins.map(({ coin, opening }) => [coin, opening]));
  const balances = new Map<string, Units>();
  const nextCounter = counters(draws.random);
  return moments.map((moment) => {
    const { businessType, coin, cTime, lateMs, isEvent = false } = moment;
    const random = isEvent ? draws.events : draws.random;
    const opening = openings.get(coin) ?? 0n;
    const before = balances.get(coin);
    const amount = moment.amount ?? (before === undefined ? opening : undefined);
    const movement =
      amount === undefined
        ? drawMovement(random, businessType, before ?? 0n, opening)
        : { amount, fee: 0n, feeByCoupon: 0n };
    const moved = movesBalance(businessType) ? movement.amount + movement.fee : 0n;
    const balance = (before ?? 0n) + moved;
    balances.set(coin, balance);
    const billId = snowflake(cTime, accountCounter(isEvent ? 0 : nextCounter(cTime), account));
    return {
      billId,
      cTime: epochMs(cTime),
      visibleAt: epochMs(cTime + lateMs),
      businessType,
      coin,
      row: wireBill(random, moment, billId, movement, balance),
    };
  });
}

/** An id as the exchange's look: time and a counter, more than 2^53, as decimal text. */
export const snowflake = (cTime: number, counter: number): string =>
  String((BigInt(cTime - snowflakeStartMs) << counterBits) | BigInt(counter));

const accountBits = 10;

/** A counter whose low bits are the account's own: funding falls on one millisecond in all accounts. */
const accountCounter = (counter: number, account: number): number =>
  (counter << accountBits) | account;

/**
 * Counters within a millisecond. Half of them begin at 0, so that product types share ids
 * where they share a millisecond: whether real ids are unique across types is not known.
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
