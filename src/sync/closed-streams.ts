import type { ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import type { MetAccount } from "./account-mode.ts";
import { type AccountMode, type AccountState, modeOf, type Wanted } from "./account-state.ts";
import { planStream, type ReadTime, readTime } from "./plan.ts";
import type { KnownTime, Stream } from "./store.ts";
import type { BillsDeps, HeldDeps, StreamRun } from "./stream-run.ts";

/** A stream that was closed because its account changed its mode, and how far it was read. */
export type ClosedStream = ReadTime & { readonly stream: Stream; readonly closedAt: EpochMs };

/**
 * Records an account's mode if it changed. Streams of the other mode are closed, and streams of this mode
 * are opened again.
 * @returns the streams that this call closed.
 */
export async function closeStreamsOfOtherMode(
  { held, exchangeNow, settleLagMs }: HeldDeps & Pick<BillsDeps, "settleLagMs">,
  account: Wanted & { readonly name: string },
  state: AccountState,
  { mode, streams }: MetAccount<Pick<StreamRun, "reader">>,
): Promise<readonly ClosedStream[]> {
  const { name } = account;
  const isKnown =
    state.mode?.is === mode &&
    state.closed.every(({ productType }) => modeOf(productType) !== mode);
  // The mode is not known if the classic API refused everything that it was asked for.
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
        return { stream, closedAt, ...readTime(await held.store.knownTime(stream), closedAt) };
      }),
  );
}

/**
 * The product types that were to be read in the previous mode. An interrupted first sync may have planned
 * only some of them. The others are planned before they are closed, so that their unread time is known.
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

const isUnplanned = ({ coverage, lost, open }: KnownTime): boolean =>
  coverage.length + lost.length + open.length === 0;
