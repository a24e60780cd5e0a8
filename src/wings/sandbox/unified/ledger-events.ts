import type { UnifiedProductType } from "../../../core/contract/product-types.ts";
import {
  dayMs,
  hourMs,
  minuteMs,
  retentionMs,
  secondMs,
  unifiedIntervalMaxMs,
} from "../../../lib/time.ts";
import type { Units } from "../money.ts";
import { integer, pick, type Random } from "../random.ts";
import { type DrawOptions, edgeTimes, fundingTimes, newTimes } from "../schedule.ts";

/**
 * An event that makes rows of a unified account's ledger. Most make one row, a spot fill two or
 * three.
 */
export type LedgerEvent = {
  /** The `ts` of its rows. */
  readonly at: number;
  /** How much later it is booked, in ms. Its ids show the time of booking. */
  readonly bookedMs: number;
  /** How long after `at` the exchange begins to serve it, ms. */
  readonly lateMs: number;
  readonly productType: UnifiedProductType;
  readonly act: Act;
};

type Act =
  | { readonly kind: "spot-fill" | "conversion" }
  /** A row of a given type. Coin and amount are given if they are decided. */
  | {
      readonly kind: "row";
      readonly type: string;
      readonly coin?: string;
      readonly amount?: Units;
    };

export type LedgerEventOptions = DrawOptions & { readonly productType: UnifiedProductType };

type UnifiedProfile = {
  /** The number of events in 90 days, not counting those that happen in any case. */
  readonly events: number;
  readonly fundingPercent: number;
  /** The number of events in the largest cluster within one millisecond. */
  readonly largestCluster: number;
  readonly acts: readonly Act[];
};

const rowOf = (type: string): Act => ({ kind: "row", type });
const spotFill: Act = { kind: "spot-fill" };
const orders = ["OPEN_LONG", "OPEN_SHORT", "CLOSE_LONG", "CLOSE_SHORT", "BUY_DEAL", "SELL_DEAL"];
const rarer = ["FORCE_CLOSE_LONG", "BURST_CLOSE_SHORT", "RISK_LIQ_USER_IN", "INCREASE_MARGIN"];
const futures = [...orders, ...orders, ...orders, ...rarer].map(rowOf);
const loans = ["BORROW", "REPAYMENT", "INTEREST_SETTLEMENT_OUT", "LIQ_FEE"].map(rowOf);
const transfers = ["TRANSFER_IN", "TRANSFER_OUT", "BONUS_GRANT_USER_IN"].map(rowOf);

/** 90 days make some 60 pages of 100. */
export const unifiedProfiles: Readonly<Record<UnifiedProductType, UnifiedProfile>> = {
  "UTA-SPOT": { events: 700, fundingPercent: 0, largestCluster: 60, acts: [spotFill] },
  "UTA-MARGIN": {
    events: 160,
    fundingPercent: 0,
    largestCluster: 20,
    acts: [spotFill, spotFill, ...loans],
  },
  "UTA-USDT-FUTURES": {
    events: 1_500,
    fundingPercent: 100,
    largestCluster: 150,
    acts: futures,
  },
  "UTA-COIN-FUTURES": { events: 300, fundingPercent: 30, largestCluster: 110, acts: futures },
  "UTA-USDC-FUTURES": { events: 220, fundingPercent: 20, largestCluster: 40, acts: futures },
  "UTA-OTHER": {
    events: 90,
    fundingPercent: 0,
    largestCluster: 12,
    acts: [...transfers, { kind: "conversion" }],
  },
};

// A funding row is dated by when funding was due; its id shows that it was booked later.
const fundingBooked = { leastMs: secondMs, mostMs: 2 * secondMs };
const lateMaxMs = 9 * minuteMs;

/** What happens in a category, oldest first. */
export function ledgerEvents(options: LedgerEventOptions): LedgerEvent[] {
  const { random, productType, from, to } = options;
  const { acts } = unifiedProfiles[productType];
  const others = [
    ...edgeTimes(options, unifiedIntervalMaxMs).map((at) => ({ at, act: pick(random, acts) })),
    ...namedActs(options),
    ...recentActs(options),
    ...clusters(options),
  ].map(({ at, act, lateMs = lateness(random) }: Draft): LedgerEvent => {
    return { at, bookedMs: 0, lateMs, productType, act };
  });
  return [...funding(options), ...others]
    .filter(({ at }) => at >= from && at < to)
    .toSorted((left, right) => left.at - right.at);
}

type Draft = { readonly at: number; readonly act: Act; readonly lateMs?: number };

/** Most rows are served at once, some after seconds, a few after minutes. */
function lateness(random: Random): number {
  const draw = random();
  if (draw < 0.003) return integer(random, secondMs, lateMaxMs);
  return draw < 0.03 ? integer(random, secondMs, 5 * secondMs) : 0;
}

/** On the exact millisecond. */
function funding(options: LedgerEventOptions): LedgerEvent[] {
  const { random, productType } = options;
  const { fundingPercent } = unifiedProfiles[productType];
  const events: LedgerEvent[] = [];
  for (const at of fundingTimes(options, fundingPercent)) {
    events.push(...besideFunding(options, at));
    const positions = integer(random, 1, 3);
    for (let position = 0; position < positions; position++) {
      const type = `CONTRACT_MAIN_SETTLE_FEE_USER_${random() < 0.52 ? "OUT" : "IN"}`;
      const bookedMs = integer(random, fundingBooked.leastMs, fundingBooked.mostMs);
      events.push({ at, bookedMs, lateMs: bookedMs, productType, act: rowOf(type) });
    }
  }
  return events;
}

/** Trades while funding is due: some rows are booked before the funding and dated after it. */
function besideFunding({ random, productType, density }: LedgerEventOptions, due: number) {
  if (random() >= 0.25 * density) return [];
  const { acts } = unifiedProfiles[productType];
  return Array.from({ length: integer(random, 1, 4) }, (): LedgerEvent => {
    const at = due + integer(random, 0, fundingBooked.mostMs);
    return { at, bookedMs: 0, lateMs: lateness(random), productType, act: pick(random, acts) };
  });
}

const inOther =
  /TRANSFER|REFUND|PAPTRADING|BONUS|EXCHANGE|CONVER|DELIST|SMALL_ASSET|REBASE|TRACE|CONFISCATE/;
const inMargin = /BORROW|REPAYMENT|INTEREST|^LIQ_|Loyalty/;
const inSpot = /^ORDER_/;

/** The category for a type's one row. Transfers are in OTHER only. */
function productTypeOf(type: string): UnifiedProductType {
  if (inOther.test(type)) return "UTA-OTHER";
  if (inMargin.test(type)) return "UTA-MARGIN";
  return inSpot.test(type) ? "UTA-SPOT" : "UTA-USDT-FUTURES";
}

/** One row of each type, somewhere in the 90 days. */
function namedActs(options: LedgerEventOptions): readonly Draft[] {
  const { random, productType, now } = options;
  return options.types
    .filter((type) => productTypeOf(type) === productType)
    .map((type) => ({
      at: now - integer(random, hourMs, retentionMs - dayMs),
      act: rowOf(type),
    }));
}

/** Rows that arrive late at the opening, and new rows afterwards. */
function recentActs(options: LedgerEventOptions): readonly Draft[] {
  const { random, productType, now } = options;
  const { acts } = unifiedProfiles[productType];
  const drafts: Draft[] = [
    { at: now - 5 * minuteMs, act: pick(random, acts), lateMs: 5 * minuteMs + 20 * secondMs },
    { at: now - 30 * secondMs, act: pick(random, acts), lateMs: 3 * minuteMs },
  ];
  for (const at of newTimes(options, 4 * minuteMs)) drafts.push({ at, act: pick(random, acts) });
  return drafts;
}

/** Events that share a millisecond with others of their kind. */
function clusters({
  random,
  productType,
  from,
  to,
  density,
}: LedgerEventOptions): readonly Draft[] {
  const { events, largestCluster, acts } = unifiedProfiles[productType];
  const drafts: Draft[] = [];
  const wanted = Math.round((events * density * (to - from)) / retentionMs);
  while (drafts.length < wanted) {
    const left = wanted - drafts.length;
    const isFirst = drafts.length === 0 && left > largestCluster;
    const size = isFirst ? largestCluster : Math.min(left, clusterSize(random));
    const at = integer(random, from, to - 1);
    for (let index = 0; index < size; index++) drafts.push({ at, act: pick(random, acts) });
  }
  return drafts;
}

const clusterSize = (random: Random): number =>
  random() < 0.7 ? integer(random, 1, 3) : integer(random, 2, random() < 0.9 ? 9 : 40);
