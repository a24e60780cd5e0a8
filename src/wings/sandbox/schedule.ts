import { isDemoProductType, type ProductType } from "../../core/contract/product-types.ts";
import { dayMs, hourMs, intervalMaxMs, minuteMs, retentionMs, secondMs } from "../../lib/time.ts";
import { drawUnits, type Units, units } from "./money.ts";
import type { Profile } from "./profiles.ts";
import { integer, pick, type Random, seededRandom } from "./random.ts";

type EventOptions = {
  readonly seed: string | number;
  readonly productType: ProductType;
  /** All in milliseconds since the Unix epoch. */
  readonly now: number;
  readonly from: number;
  readonly to: number;
};

/**
 * The bills, plus bills that depend on others: the insurance fund's sweep some seconds after a
 * liquidation, and margin transfers whose other leg is in another product type. They are drawn from
 * their own sequence, so that of other bills they change only the balance.
 */
export function withEvents(bills: readonly FutureBill[], options: EventOptions): FutureBill[] {
  const taken = new Set(bills.map(({ cTime }) => cTime));
  const events = [...sweeps(bills, options), ...transferLegs(options)]
    .filter(({ cTime }) => cTime > options.from && cTime < options.to)
    .map((event) => {
      let { cTime } = event;
      while (taken.has(cTime)) cTime += 1;
      taken.add(cTime);
      return { ...event, cTime };
    });
  return [...bills, ...events].sort((left, right) => left.cTime - right.cTime);
}

function sweeps(bills: readonly FutureBill[], { seed, productType }: EventOptions): FutureBill[] {
  const random = seededRandom(`${seed}/${productType}/sweeps`);
  return bills
    .filter(({ businessType }) => /^burst_|^force_close_/.test(businessType))
    .filter(() => random() < 0.5)
    .map((bill) => ({
      ...bill,
      cTime: bill.cTime + integer(random, 1_000, 6_000),
      businessType: "risk_captital_user_transfer",
      lateMs: 0,
      isEvent: true,
    }));
}

// Bitcoin of the coin-margined account serves as margin of the USDC contracts for some days, then
// returns.
const [lender, borrower] = ["COIN-FUTURES", "USDC-FUTURES"] as const;
const daysAgo = [80, 60, 40, 20];
const largest: Units = units("0.2");

/**
 * This product type's legs. Both sides are drawn from one sequence, whichever product types have
 * bills.
 */
function transferLegs({ seed, productType, now, from, to }: EventOptions): FutureBill[] {
  if (productType !== lender && productType !== borrower) return [];
  const random = seededRandom(`${seed}/transfers`);
  return daysAgo.flatMap((days) => {
    const amount = drawUnits(random, largest);
    const sentAt = now - days * dayMs + integer(random, 0, 12 * hourMs);
    const backAt = sentAt + integer(random, 1, 6) * dayMs + integer(random, 0, hourMs);
    const wayMs = integer(random, 40, 900);
    if (sentAt <= from || backAt + wayMs >= to) return [];
    const leg = (cTime: number, signed: Units): FutureBill => ({
      cTime,
      businessType: signed < 0n ? "trans_to_contract" : "trans_from_contract",
      coin: "BTC",
      symbol: "",
      lateMs: 0,
      isEvent: true,
      amount: signed,
    });
    return productType === lender
      ? [leg(sentAt, -amount), leg(backAt + wayMs, amount)]
      : [leg(sentAt + wayMs, amount), leg(backAt, -amount)];
  });
}

/** A future bill: its time, and what is already decided about it. */
export type FutureBill = {
  readonly cTime: number;
  readonly businessType: string;
  readonly coin: string;
  readonly symbol: string;
  /** How long after its cTime the exchange begins to serve it. */
  readonly lateMs: number;
  /** The bill belongs to another bill and is drawn from its own sequence: see events.ts. */
  readonly isEvent?: boolean;
  /** The amount, if it is not to be drawn. */
  readonly amount?: Units;
};

/** What the bills of a product type are drawn by. */
export type DrawOptions = {
  readonly random: Random;
  /** All in milliseconds since the Unix epoch. `now` is when the ledger is opened. */
  readonly now: number;
  readonly from: number;
  readonly to: number;
  /** Factor on the number of trades. */
  readonly density: number;
  /** Business types that occur at least once, beside those of an ordinary account. */
  readonly types: readonly string[];
  /** Moments with a bill each, and one bill in the millisecond before and after. */
  readonly edges?: readonly number[];
};

export type ScheduleOptions = DrawOptions & {
  readonly productType: ProductType;
  readonly profile: Profile;
};

const fundingTimesApartMs = 8 * hourMs;
const lateMaxMs = 9 * minuteMs;
const weeks = Math.ceil(retentionMs / intervalMaxMs);
const quietWeek = 5;
const heavyWeek = 8;

type Draft = { cTime: number; businessType: string; lateMs?: number; clustered?: boolean };

/** The times and types of a product type's bills, in their true order. */
export function schedule(options: ScheduleOptions): FutureBill[] {
  const { random, profile, now, from, to } = options;
  const fixed = [
    ...fundingDrafts(options),
    ...edgeTimes(options, intervalMaxMs).map((cTime) => trade(random, cTime)),
    ...typeDrafts(options),
    ...recentDrafts(options),
  ];
  const drafts = [...fixed, ...tradeDrafts(options, fixed.length)]
    .filter(({ cTime }) => cTime > from && cTime < to)
    .filter(({ cTime, clustered }) => clustered !== true || weekOf(cTime, now) !== quietWeek);
  const opening: Draft[] = profile.coins.map(() => ({
    cTime: from,
    businessType: "trans_from_exchange",
  }));
  // The sort is stable, so bills of one millisecond keep the order in which they were drawn.
  return [...opening, ...drafts.sort((left, right) => left.cTime - right.cTime)].map(
    (draft, index) => {
      const coin = profile.coins[index] ?? pick(random, profile.coins);
      return {
        cTime: draft.cTime,
        businessType: draft.businessType,
        coin: coin.coin,
        symbol: pick(random, coin.symbols),
        lateMs: draft.lateMs ?? (random() < 0.003 ? integer(random, secondMs, lateMaxMs) : 0),
      };
    },
  );
}

const weekOf = (time: number, now: number): number =>
  Math.floor((time - (now - retentionMs)) / intervalMaxMs);

/** Those of the times 00, 08 and 16 o'clock UTC at which a position is open. */
export function* fundingTimes({ random, from, to }: DrawOptions, percent: number) {
  const first = Math.ceil(from / fundingTimesApartMs) * fundingTimesApartMs;
  for (let time = first; time < to; time += fundingTimesApartMs)
    if (random() * 100 < percent) yield time;
}

/** Sometimes on the exact millisecond. */
function fundingDrafts(options: ScheduleOptions): Draft[] {
  const { random, profile, now } = options;
  const drafts: Draft[] = [];
  for (const time of fundingTimes(options, profile.fundingPercent)) {
    if (weekOf(time, now) === quietWeek) continue;
    const cTime = time + (random() < 0.5 ? 0 : integer(random, 1, 2_500));
    const positions = random() < 0.2 ? 2 : 1;
    for (let position = 0; position < positions; position++)
      drafts.push({ cTime, businessType: "contract_settle_fee" });
  }
  return drafts;
}

/** Times that reveal mistakes about bounds: around the edges of windows of this length, and at the horizon. */
export function edgeTimes({ now, edges }: DrawOptions, windowMs: number): readonly number[] {
  const horizon = now - retentionMs;
  const windows = Math.floor(retentionMs / windowMs) + 1;
  const starts = Array.from({ length: windows }, (_, window) => horizon + window * windowMs);
  const atHorizon = [-hourMs, -secondMs, 10 * secondMs, minuteMs, hourMs];
  return [
    ...(edges ?? starts).flatMap((edge) => [edge - 1, edge, edge + 1]),
    ...atHorizon.map((offset) => horizon + offset),
  ];
}

/** One bill of each type, somewhere in the 90 days. */
function typeDrafts({ random, now, types }: ScheduleOptions): Draft[] {
  const ordinary = ["trans_to_exchange", "trans_from_exchange", "append_margin", "bonus_issue"];
  return [...types, ...ordinary].map((businessType) => {
    const cTime = now - integer(random, hourMs, retentionMs - dayMs);
    return {
      cTime: weekOf(cTime, now) === quietWeek ? cTime + intervalMaxMs : cTime,
      businessType,
    };
  });
}

/** Times in the hour after the opening, at most so far apart. */
export function* newTimes({ random, now, to }: DrawOptions, apartMaxMs: number) {
  const end = Math.min(to, now + hourMs);
  for (let time = now + 5 * secondMs; time < end; time += integer(random, 1, apartMaxMs))
    yield time;
}

/** Bills that arrive late at the opening, and new bills afterwards. */
function recentDrafts(options: ScheduleOptions): Draft[] {
  const { random, now, productType } = options;
  const apartMs = isDemoProductType(productType) ? 20 * minuteMs : 90 * secondMs;
  const drafts: Draft[] = [
    { cTime: now - 5 * minuteMs, businessType: "close_long", lateMs: 5 * minuteMs + 20 * secondMs },
    { cTime: now - 30 * secondMs, businessType: "open_short", lateMs: 3 * minuteMs },
  ];
  for (const cTime of newTimes(options, 2 * apartMs)) drafts.push(trade(random, cTime));
  return drafts;
}

const tradeTypes = ["open_long", "open_short", "close_long", "close_short", "buy", "sell"];
const trade = (random: Random, cTime: number): Draft => ({
  ...{ cTime, businessType: pick(random, tradeTypes) },
});
const rarerTypes = [
  "trans_from_exchange",
  "trans_to_exchange",
  "force_close_long",
  "reduce_margin",
];

/** Fills, many of them in one millisecond, week by week. */
function tradeDrafts({ random, profile, now, from, to, density }: ScheduleOptions, fixed: number) {
  const drafts: Draft[] = [];
  const ordinary = (profile.bills - profile.heavyWeekBills - fixed) / (weeks - 2);
  const lastWeek = weekOf(to, now);
  for (let week = weekOf(from, now); week <= lastWeek; week++) {
    const start = now - retentionMs + week * intervalMaxMs;
    const wanted = week === heavyWeek ? profile.heavyWeekBills : ordinary * (0.6 + random() * 0.8);
    let left = Math.round(wanted * density);
    while (left > 0) {
      const largest = week === heavyWeek && left > profile.largestCluster;
      const isFirst = left === Math.round(wanted * density);
      const size = largest && isFirst ? profile.largestCluster : clusterSize(random, left);
      const cTime = start + integer(random, 0, intervalMaxMs - 1);
      const businessType = pick(random, random() < 0.06 ? rarerTypes : tradeTypes);
      for (let fill = 0; fill < size; fill++) drafts.push({ cTime, businessType, clustered: true });
      left -= size;
    }
  }
  return drafts;
}

function clusterSize(random: Random, most: number): number {
  const draw = random();
  const size = draw < 0.7 ? integer(random, 1, 4) : integer(random, 2, draw < 0.95 ? 12 : 150);
  return Math.min(size, most);
}
