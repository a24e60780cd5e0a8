import { billsOperations } from "../../src/core/contract/bills-api.ts";
import { epochMs, secondMs } from "../../src/lib/time.ts";
import { seededRandom } from "../../src/wings/sandbox/random.ts";
import { withLatency } from "../../test/exchange/network.ts";
import { openSandbox } from "../../test/exchange/sandbox.ts";
import type { ExchangeFacts, ExchangeOptions } from "./exchange.ts";
import { makeBills, necessaryRequests } from "./ledger.ts";

/*
 * The exchange of the backfill benchmarks, in a process of its own. It waits half of a round trip
 * before a request arrives and is counted, and the other half after that. In any rolling second it
 * refuses arrivals past the limit, and counts them.
 */

const { kind, shape, bills, meanMs, spreadMs } = JSON.parse(
  process.argv[2] ?? "",
) as ExchangeOptions;
const openedAt = epochMs(Date.now());
const ledger = makeBills(kind, shape, bills, openedAt);
const random = seededRandom(`${shape} ${meanMs}`);
const half = () => (meanMs - spreadMs + 2 * spreadMs * random()) / 2;
let firstAt: number | undefined;
let lastAt = 0;
const perSecond: number[] = [];
const arrive = (path: string) => {
  if (!billsOperations.some((operation) => operation.path === path)) return;
  const second = Math.floor((performance.now() - (firstAt ?? 0)) / secondMs);
  for (let place = perSecond.length; place <= second; place++) perSecond.push(0);
  perSecond[second] = (perSecond[second] ?? 0) + 1;
};
const sandbox = await openSandbox({
  seed: 1,
  density: 0,
  modes: [{ at: Number.NEGATIVE_INFINITY, mode: kind }],
  alterLedger: ({ now }) => ({ now, bills: ledger }),
  wrapAnswer(answer) {
    const counted: typeof answer = (request) => {
      arrive(request.path);
      return answer(request);
    };
    const distant = withLatency(counted, half, half);
    return async (request) => {
      firstAt ??= performance.now();
      const given = await distant(request);
      lastAt = performance.now();
      return given;
    };
  },
});
const { apiKey, apiSecret, apiPassphrase } = sandbox.account;
const facts: ExchangeFacts = {
  url: sandbox.url,
  apiKey,
  apiSecret,
  apiPassphrase,
  necessary: necessaryRequests({ kind, shape }, ledger, openedAt),
};
process.on("message", () => {
  const seconds = (lastAt - (firstAt ?? lastAt)) / secondMs;
  process.send?.({ ...sandbox.statistics(), seconds, perSecond });
});
process.on("disconnect", () => process.exit(0));
process.send?.(facts);
