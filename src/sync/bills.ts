import { billsApiOf, billsOperations } from "../contract/bills-api.ts";
import type { ProductType } from "../contract/product-types.ts";
import { failureScope } from "./failure-scope.ts";
import type { Walk } from "./store.ts";
import { probeAccount } from "./stream-reader.ts";
import { type BillsDeps, type StreamReport, StreamRun } from "./stream-run.ts";
import { WindowScheduler } from "./window-scheduler.ts";

/**
 * Brings the bills of an account's product types up to now. The windows of all of them are walked
 * oldest first, many at once under one rate limiter, and divided where slots would idle. A product
 * type that fails does not stop the others; its report carries the error.
 *
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
export async function syncBills(
  deps: BillsDeps,
  account: string,
  productTypes: readonly ProductType[],
): Promise<readonly StreamReport[]> {
  const streams = productTypes.map((productType) => new StreamRun(deps, { account, productType }));
  await probeAccount(
    deps.signal,
    streams.map(({ reader }) => reader),
  );
  const walks = [];
  for (const stream of streams.filter(({ reader }) => !reader.hasFailed)) {
    for (const walk of await stream.plan()) walks.push({ stream, walk });
  }
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
  return Promise.all(streams.map((stream) => stream.report()));
}
