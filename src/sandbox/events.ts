import type { ProductType } from "../contract/product-types.ts";
import { dayMs, hourMs } from "../contract/time.ts";
import { drawUnits, type Units, units } from "./money.ts";
import { integer, seededRandom } from "./random.ts";
import type { Moment } from "./schedule.ts";

type EventOptions = {
  readonly seed: string | number;
  readonly productType: ProductType;
  /** All in milliseconds since the Unix epoch. */
  readonly now: number;
  readonly from: number;
  readonly to: number;
};

/**
 * The moments, plus bills that depend on others: the insurance fund's sweep some seconds after a
 * liquidation, and margin transfers whose other leg is in another product type. They are drawn from
 * their own sequence, so that of other bills they change only the balance.
 */
export function withEvents(moments: readonly Moment[], options: EventOptions): Moment[] {
  const taken = new Set(moments.map(({ cTime }) => cTime));
  const events = [...sweeps(moments, options), ...transferLegs(options)]
    .filter(({ cTime }) => cTime > options.from && cTime < options.to)
    .map((event) => {
      let { cTime } = event;
      while (taken.has(cTime)) cTime += 1;
      taken.add(cTime);
      return { ...event, cTime };
    });
  return [...moments, ...events].sort((left, right) => left.cTime - right.cTime);
}

function sweeps(moments: readonly Moment[], { seed, productType }: EventOptions): Moment[] {
  const random = seededRandom(`${seed}/${productType}/sweeps`);
  return moments
    .filter(({ businessType }) => /^burst_|^force_close_/.test(businessType))
    .filter(() => random() < 0.5)
    .map((moment) => ({
      ...moment,
      cTime: moment.cTime + integer(random, 1_000, 6_000),
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
function transferLegs({ seed, productType, now, from, to }: EventOptions): Moment[] {
  if (productType !== lender && productType !== borrower) return [];
  const random = seededRandom(`${seed}/transfers`);
  return daysAgo.flatMap((days) => {
    const amount = drawUnits(random, largest);
    const sentAt = now - days * dayMs + integer(random, 0, 12 * hourMs);
    const backAt = sentAt + integer(random, 1, 6) * dayMs + integer(random, 0, hourMs);
    const wayMs = integer(random, 40, 900);
    if (sentAt <= from || backAt + wayMs >= to) return [];
    const leg = (cTime: number, signed: Units): Moment => ({
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
