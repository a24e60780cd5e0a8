import type { ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import type { Met } from "./account-mode.ts";
import { type AccountMode, type AccountState, modeOf, type Wanted } from "./account-state.ts";
import { type Interval, intersect, interval, subtract } from "./intervals.ts";
import { completeThrough, historyStart, horizonAt, planStream } from "./plan.ts";
import type { KnownTime, Stream } from "./store.ts";
import type { BillsDeps, StreamRun } from "./stream-run.ts";

/** How much of a closed stream was read. */
export type ClosedTime = {
  /** The last instant up to which nothing is missing; undefined where nothing was proven. */
  readonly through: EpochMs | undefined;
  /** What was not read of it, or not proven to be all. */
  readonly unread: readonly Interval[];
};

/** A stream whose account came into the other mode, and what is left of it. */
export type ClosedStream = ClosedTime & { readonly stream: Stream; readonly closedAt: EpochMs };

/**
 * Records an account's mode where it changed. The streams of the other mode are closed, and those of this
 * mode are open again.
 * @returns the streams that this run closed.
 */
export async function closeStreamsOfOtherMode(
  { held, exchangeNow, settleLagMs }: Pick<BillsDeps, "held" | "exchangeNow" | "settleLagMs">,
  account: Wanted & { readonly name: string },
  state: AccountState,
  { mode, streams }: Met<Pick<StreamRun, "reader">>,
): Promise<readonly ClosedStream[]> {
  const { name } = account;
  const isKnown =
    state.mode?.is === mode &&
    state.closed.every(({ productType }) => modeOf(productType) !== mode);
  // Where the classic API refused all that it was asked for, it told no mode.
  const isTold = mode === "unified" || streams.some(({ reader }) => reader.hasAnswered);
  if (isKnown || !isTold) return [];
  for (const productType of leftUnplanned(account, state, mode)) {
    const stream = { account: name, productType };
    const known = await held.store.knownTime(stream);
    if (isUnplanned(known)) {
      await held.store.recordPlan(planStream(stream, known, { now: exchangeNow(), settleLagMs }));
    }
  }
  await held.store.closeStreamsOfOtherMode(mode, exchangeNow());
  const { closed } = await held.store.accountState();
  const isNew = (productType: ProductType) =>
    state.closed.every((before) => before.productType !== productType);
  return Promise.all(
    closed
      .filter(({ productType }) => isNew(productType))
      .map(async ({ productType, closedAt }) => {
        const stream = { account: name, productType };
        return { stream, closedAt, ...closedTime(await held.store.knownTime(stream), closedAt) };
      }),
  );
}

/**
 * The product types that were to be read in the mode before. An interrupted first sync may have planned only
 * some of them. The rest are planned before they are closed, so that their unread time is known.
 */
const leftUnplanned = (
  { productTypes }: Wanted,
  { mode: last, notAvailable }: AccountState,
  mode: AccountMode,
): readonly ProductType[] =>
  last === undefined || last.is === mode
    ? []
    : productTypes.filter(
        (productType) =>
          modeOf(productType) === last.is &&
          notAvailable.every((refused) => refused.productType !== productType),
      );

const isUnplanned = ({ coverage, expired, open }: KnownTime): boolean =>
  coverage.length + expired.length + open.length === 0;

/**
 * What is left of a closed stream.
 * @param closedAt the exchange's time when it was closed.
 */
export function closedTime(known: KnownTime, closedAt: EpochMs): ClosedTime {
  const start = historyStart(known, horizonAt(closedAt));
  return {
    through: completeThrough(known, closedAt),
    unread: subtract(interval(start, closedAt), [...known.coverage, ...known.expired]),
  };
}

/** The part of a closed stream's unread time that the exchange has forgotten: not even switching back brings it. */
export const behindHorizon = (unread: readonly Interval[], now: EpochMs): readonly Interval[] =>
  intersect(unread, interval(Number.NEGATIVE_INFINITY, horizonAt(now)));
