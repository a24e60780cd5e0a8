import { setTimeout as sleep } from "node:timers/promises";
import { openSandbox } from "../../test/exchange/sandbox.ts";
import { peakOf } from "../../test/exchange/statistics.ts";
import type { FleetExchangeFacts } from "./exchange.ts";

/*
 * An exchange with many accounts without new bills, in a process of its own. It answers at once,
 * and counts the requests from each address in a rolling second.
 */

const { accounts } = JSON.parse(process.argv[2] ?? "") as { readonly accounts: number };
const windows = new Map<string, ReturnType<typeof peakOf>>();
let requests = 0;
let delayMs = 0;
const sandbox = await openSandbox({
  seed: "fleet",
  density: 0,
  accountNames: Array.from({ length: accounts }, (_, index) => `fund-${index}`),
  wrapAnswer: (answer) => async (request) => {
    requests += 1;
    const window = windows.get(request.clientAddress) ?? peakOf(1_000);
    windows.set(request.clientAddress, window);
    window.arrive(performance.now());
    if (delayMs > 0) await sleep(delayMs);
    return answer(request);
  },
});
const facts: FleetExchangeFacts = {
  url: sandbox.url,
  accounts: sandbox.accounts.map(({ name, apiKey, apiSecret, apiPassphrase }) => ({
    name,
    apiKey,
    apiSecret,
    apiPassphrase,
  })),
};
process.on("message", (message) => {
  if (typeof message === "number") {
    delayMs = message;
    return;
  }
  process.send?.({
    requests,
    refusals: sandbox.statistics().refusals,
    addressPeak: Math.max(0, ...[...windows.values()].map(({ peak }) => peak())),
    uidPeak: Math.max(0, ...sandbox.statistics().peaks.map((peak) => peak.requests)),
  });
});
process.on("disconnect", () => process.exit(0));
process.send?.(facts);
