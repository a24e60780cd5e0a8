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
const sandbox = await openSandbox({
  seed: 1,
  density: 0,
  modes: [{ at: Number.NEGATIVE_INFINITY, mode: kind }],
  alterLedger: ({ now }) => ({ now, bills: ledger }),
  wrapAnswer(answer) {
    const distant = withLatency(answer, half, half);
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
  process.send?.({ ...sandbox.statistics(), seconds });
});
process.on("disconnect", () => process.exit(0));
process.send?.(facts);
