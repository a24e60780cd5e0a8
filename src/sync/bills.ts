import type { ProductType } from "../contract/product-types.ts";
import { ExchangeError, type ExchangeErrorKind } from "../errors.ts";
import type { Walk } from "./store.ts";
import { type BillsDeps, reachOf, type StreamReport, StreamRun } from "./stream-run.ts";
import { WalkPool } from "./walk-pool.ts";

/**
 * Brings the bills of an account's product types up to now: the windows of all of them, oldest
 * first, many at once under one limiter, and divided where slots would idle. A product type that fails leaves the others alone; its
 * report carries the error.
 *
 * @throws ExchangeError where the account itself is refused, or cannot be asked at all.
 */
export async function syncBills(
  deps: BillsDeps,
  account: string,
  productTypes: readonly ProductType[],
): Promise<readonly StreamReport[]> {
  const streams = productTypes.map((productType) => new StreamRun(deps, { account, productType }));
  await greet(deps.signal, streams);
  const walks = [];
  for (const stream of streams.filter(({ hasFailed }) => !hasFailed)) {
    for (const walk of await stream.plan()) walks.push({ stream, walk });
  }
  const everything = new AbortController();
  const pool = new WalkPool();
  const begin = (stream: StreamRun, walk: Walk): void =>
    pool.add(async (member) => {
      const share = { ...member, begin: (part: Walk) => begin(stream, part) };
      const error = await stream.walk(walk, everything.signal, share);
      if (error !== undefined && reachOf(error) === "account") everything.abort(error);
    });
  walks.sort((a, b) => a.walk.window.from - b.walk.window.from);
  for (const { stream, walk } of walks) begin(stream, walk);
  await pool.done();
  return Promise.all(streams.map((stream) => stream.report()));
}

/**
 * The run's first request goes alone: credentials that are refused are refused once, not ten
 * times at once, and an answer to a signed request proves the clock, without which nothing
 * can be planned. A product type that is refused by itself leaves that to the next one.
 */
export async function greet(
  signal: AbortSignal,
  streams: readonly Pick<StreamRun, "stream" | "ask" | "fail">[],
): Promise<void> {
  for (const stream of streams) {
    try {
      await stream.ask({ productType: stream.stream.productType, limit: "1" }, signal);
      return;
    } catch (error) {
      if (!(error instanceof ExchangeError) || !isOfProductType(error.kind)) throw error;
      stream.fail(error);
    }
  }
}

/** Whether another product type may fare better. */
const isOfProductType = (kind: ExchangeErrorKind): boolean =>
  ["refused-permission", "refused-request", "time-range", "malformed", "unknown-code"].includes(
    kind,
  );
