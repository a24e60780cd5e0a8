import { billsApiOf, billsOperations } from "../contract/bills-api.ts";
import { isRefused, messageOf } from "../errors.ts";
import type { NotAvailable } from "./account-state.ts";
import { failureScope } from "./failure-scope.ts";
import type { Walk } from "./store.ts";
import type { BillsDeps, StreamReport, StreamRun } from "./stream-run.ts";
import { WindowScheduler } from "./window-scheduler.ts";

/** The result of syncing an account's bills. */
export type BillsReport = {
  readonly streams: readonly StreamReport[];
  /** The product types that were refused to the account's key in this run. */
  readonly notAvailable: readonly Pick<NotAvailable, "productType" | "reason">[];
};

/**
 * Syncs the bills of an account's product types up to now. The windows of all of them are walked oldest
 * first, many at once under one rate limiter, and divided where slots would idle. A product type that
 * fails does not stop the others. Its report has the error.
 *
 * @param streams the streams to sync. A signed answer must have set the exchange's clock already.
 * @param readsAll whether the key may lack permission for some of them without this being a failure.
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
export async function syncBills(
  deps: Pick<BillsDeps, "held" | "exchangeNow" | "onProgress">,
  streams: readonly StreamRun[],
  readsAll: boolean,
): Promise<BillsReport> {
  await Promise.all(streams.map((stream) => stream.prepare()));
  if (readsAll) await Promise.all(notAvailableOf(streams).map((stream) => stream.askAgain()));
  const notAvailable = readsAll ? notAvailableOf(streams) : [];
  if (readsAll) await recordAvailability(deps, streams, notAvailable);
  const wanted = streams.filter((stream) => !notAvailable.includes(stream));
  const walks = [];
  failRefused(deps, wanted);
  for (const stream of wanted.filter(({ reader }) => !reader.hasFailed)) {
    for (const walk of await stream.plan()) walks.push({ stream, walk });
  }
  await walkAll(walks);
  return {
    streams: await Promise.all(wanted.map((stream) => stream.report())),
    notAvailable: notAvailable.map(refusalOf),
  };
}

/**
 * The streams that are not available to the key. They were never read, and the exchange serves other
 * streams. A key that may read nothing, or may no longer read what it read before, counts as failed instead.
 */
const notAvailableOf = (streams: readonly StreamRun[]): readonly StreamRun[] =>
  streams.every(({ reader }) => reader.refusal !== undefined)
    ? []
    : streams.filter(({ reader, isUnread }) => isRefused(reader.refusal) && isUnread);

/** Fails the refused streams. Each refusal is reported once, with all product types that it concerns. */
function failRefused(
  { onProgress }: Pick<BillsDeps, "onProgress">,
  streams: readonly StreamRun[],
): void {
  const refused = streams.filter(({ reader }) => reader.refusal !== undefined);
  for (const { reader } of refused) reader.acceptRefusal();
  const alike = Map.groupBy(refused, ({ reader }) => messageOf(reader.refusal));
  for (const [first, ...others] of alike.values()) {
    if (first === undefined) continue;
    const { stream, reader } = first;
    const also = others.map((other) => other.stream.productType);
    onProgress({ stream, event: "failed", error: reader.refusal, also });
  }
}

const refusalOf = ({ stream, reader }: StreamRun) => ({
  productType: stream.productType,
  reason: messageOf(reader.refusal),
});

async function recordAvailability(
  { held, exchangeNow }: Pick<BillsDeps, "held" | "exchangeNow">,
  streams: readonly StreamRun[],
  notAvailable: readonly StreamRun[],
): Promise<void> {
  const { notAvailable: before } = await held.store.accountState();
  const answered = streams
    .filter(({ reader }) => reader.hasAnswered)
    .map(({ stream }) => stream.productType)
    .filter((productType) => before.some((one) => one.productType === productType));
  if (answered.length === 0 && notAvailable.length === 0) return;
  for (const stream of notAvailable) await stream.withdraw();
  const refused = notAvailable.map(refusalOf);
  await held.store.recordAvailability({ refused, answered, askedAt: exchangeNow() });
}

async function walkAll(
  walks: { readonly stream: StreamRun; readonly walk: Walk }[],
): Promise<void> {
  const accountStopped = new AbortController();
  const schedulers = new Map(billsOperations.map((one) => [one, new WindowScheduler(one.limit)]));
  const begin = (stream: StreamRun, walk: Walk): void =>
    schedulers.get(billsApiOf(stream.stream.productType).operation)?.add(async (scheduled) => {
      const scheduledWalk = { ...scheduled, begin: (part: Walk) => begin(stream, part) };
      const error = await stream.walk(walk, accountStopped.signal, scheduledWalk);
      if (error !== undefined && failureScope(error) === "account") accountStopped.abort(error);
    });
  walks.sort((a, b) => a.walk.window.from - b.walk.window.from);
  for (const { stream, walk } of walks) begin(stream, walk);
  for (const scheduler of schedulers.values()) await scheduler.done();
}
