import { isUnified } from "../../core/contract/product-types.ts";
import { dayMs, hourMs, intervalMaxMs, minuteMs, retentionMs, secondMs } from "../../lib/time.ts";
import { drawUnits, type Units, units } from "./money.ts";
import { type DrawnType, type Instrument, profiles } from "./profiles.ts";
import { integer, pick, type Random, seededRandom } from "./random.ts";

/** What makes bills: most events make one, a spot fill two or three. */
export type LedgerEvent = Instrument & {
  readonly productType: DrawnType;
  /** The time of its bills. */
  readonly at: number;
  /** How much later it is booked, in ms: its ids show that time. */
  readonly bookedMs: number;
  /** How long after `at` the exchange begins to serve it, in ms. */
  readonly lateMs: number;
  readonly type: string;
  /** The amount, if it is not to be drawn. */
  readonly amount?: Units;
};

export type EventOptions = {
  readonly seed: string | number;
  /** All in milliseconds since the Unix epoch. `now` is when the ledger is opened. */
  readonly now: number;
  readonly from: number;
  readonly to: number;
  /** Factor on the number of trades. */
  readonly density: number;
  /** Types that occur once, somewhere in the 90 days. Default none but those of the profile. */
  readonly typesOf?: (productType: DrawnType) => readonly string[];
  /** Moments with a bill each, and one bill in the millisecond before and after. Default every seventh day from the horizon on. */
  readonly edges?: readonly number[];
};

type Draft = Pick<LedgerEvent, "at"> & Partial<LedgerEvent>;

/** What happens in a product type, in the order in which it is booked. */
export function ledgerEvents(
  productType: DrawnType,
  options: EventOptions,
): readonly LedgerEvent[] {
  const { seed, now, from, to, typesOf = () => [] } = options;
  // Each product type has its own random sequence: which other types are wanted changes nothing in this one.
  const random = seededRandom(`${seed}/${productType}/events`);
  const { instruments, types } = profiles[productType];
  const events = [
    ...[...edgeTimes(options), ...newTimes(random, options)].map((at) => ({ at })),
    ...typesOf(productType).map((type) => ({
      at: now - integer(random, hourMs, retentionMs - dayMs),
      type,
    })),
    ...late(now),
    ...clusters(random, productType, options),
    ...fundings(random, productType, options),
    ...transferLegs(productType, options),
  ].map(
    (draft: Draft): LedgerEvent => ({
      ...{ productType, type: pick(random, types), ...pick(random, instruments) },
      ...{ bookedMs: 0, lateMs: lateness(random), ...draft },
    }),
  );
  return [...events, ...sweeps(random, events)]
    .filter(({ at }) => at > from && at < to)
    .toSorted((a, b) => bookedAt(a) - bookedAt(b));
}

export const bookedAt = ({ at, bookedMs }: LedgerEvent): number => at + bookedMs;

/** Most bills are served at once, some after seconds, a few after minutes. */
function lateness(random: Random): number {
  const draw = random();
  if (draw < 0.003) return integer(random, secondMs, 9 * minuteMs);
  return draw < 0.03 ? integer(random, secondMs, 5 * secondMs) : 0;
}

/** Times that reveal mistakes about bounds: around the edges of windows, and at the horizon. */
function edgeTimes({ now, edges }: EventOptions): readonly number[] {
  const horizon = now - retentionMs;
  const windows = Math.floor(retentionMs / intervalMaxMs) + 1;
  const starts = Array.from({ length: windows }, (_, window) => horizon + window * intervalMaxMs);
  const atHorizon = [-hourMs, -secondMs, 10 * secondMs, minuteMs, hourMs];
  return [
    ...(edges ?? starts).flatMap((edge) => [edge - 1, edge, edge + 1]),
    ...atHorizon.map((offset) => horizon + offset),
  ];
}

/** Bills that arrive late at the opening. */
const late = (now: number) => [
  { at: now - 5 * minuteMs, lateMs: 5 * minuteMs + 20 * secondMs },
  { at: now - 30 * secondMs, lateMs: 3 * minuteMs },
];

/** Times in the hour after the opening. */
function* newTimes(random: Random, { now, to }: EventOptions) {
  const end = Math.min(to, now + hourMs);
  for (let time = now + 5 * secondMs; time < end; time += integer(random, 1, 4 * minuteMs))
    yield time;
}

/** Events that share a millisecond with others. */
function clusters(
  random: Random,
  productType: DrawnType,
  { from, to, density }: EventOptions,
): readonly Draft[] {
  const { events, largestCluster } = profiles[productType];
  const wanted = Math.round((events * density * (to - from)) / retentionMs);
  const drafts: Draft[] = [];
  while (drafts.length < wanted) {
    const left = wanted - drafts.length;
    const isFirst = drafts.length === 0 && left > largestCluster;
    const usual = random() < 0.7 ? integer(random, 1, 4) : integer(random, 2, 12);
    const at = integer(random, from, to - 1);
    const size = isFirst ? largestCluster : Math.min(left, usual);
    drafts.push(...Array.from({ length: size }, () => ({ at })));
  }
  return drafts;
}

const fundingTimesApartMs = 8 * hourMs;
// Of a unified account: a funding bill is dated by when funding was due; its id shows that it was booked later.
const bookedMaxMs = 2 * secondMs;

/** Funding at 00, 08 and 16 o'clock UTC, on the exact millisecond, and trades around it. */
function fundings(
  random: Random,
  productType: DrawnType,
  { from, to, density }: EventOptions,
): readonly Draft[] {
  const { fundingPercent } = profiles[productType];
  const drafts: Draft[] = [];
  const first = Math.ceil(from / fundingTimesApartMs) * fundingTimesApartMs;
  for (let at = first; at < to; at += fundingTimesApartMs) {
    if (random() * 100 >= fundingPercent) continue;
    for (let position = integer(random, 1, 3); position > 0; position--) {
      const bookedMs = integer(random, secondMs, bookedMaxMs);
      const unified = {
        bookedMs,
        type: `CONTRACT_MAIN_SETTLE_FEE_USER_${pick(random, ["IN", "OUT"])}`,
      };
      drafts.push({ at, ...(isUnified(productType) ? unified : { type: "contract_settle_fee" }) });
    }
    if (random() < 0.25 * density)
      for (let trades = integer(random, 1, 4); trades > 0; trades--)
        drafts.push({ at: at + integer(random, 0, bookedMaxMs) });
  }
  return drafts;
}

/** The insurance fund takes what is left of half of the liquidations, some seconds later. */
const sweeps = (random: Random, events: readonly LedgerEvent[]): readonly LedgerEvent[] =>
  events
    .filter(({ type }) => /^(burst|force_close)_/.test(type) && random() < 0.5)
    .map((event) => ({
      ...event,
      at: event.at + integer(random, secondMs, 6 * secondMs),
      type: "risk_captital_user_transfer",
    }));

/**
 * Bitcoin of the coin-margined account serves as margin of the USDC contracts for some days, then returns: this
 * product type's legs. Both sides are drawn from one sequence.
 */
function transferLegs(
  productType: DrawnType,
  { seed, now, from, to }: EventOptions,
): readonly Draft[] {
  const isLender = productType === "COIN-FUTURES";
  if (!isLender && productType !== "USDC-FUTURES") return [];
  const random = seededRandom(`${seed}/transfers`);
  return [80, 60, 40, 20].flatMap((daysAgo) => {
    const amount = drawUnits(random, units("0.2"));
    const sentAt = now - daysAgo * dayMs + integer(random, 0, 12 * hourMs);
    const backAt = sentAt + integer(random, dayMs, 6 * dayMs);
    const wayMs = integer(random, 40, 900);
    if (sentAt <= from || backAt + wayMs >= to) return [];
    const same = { coin: "BTC", symbol: "" };
    const leave = { ...same, type: "trans_to_contract", amount: -amount };
    const arrive = { ...same, type: "trans_from_contract", amount };
    return isLender
      ? [
          { ...leave, at: sentAt },
          { ...arrive, at: backAt + wayMs },
        ]
      : [
          { ...arrive, at: sentAt + wayMs },
          { ...leave, at: backAt },
        ];
  });
}
