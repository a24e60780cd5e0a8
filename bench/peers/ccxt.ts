import { pageSizeMax } from "../../src/contract/account-bills.ts";
import { loopByHand } from "./store-page.ts";

/* A loop with ccxt's fetchLedger. Its own rate limiter is on, as it is by default. */

type Entry = {
  readonly id: string;
  readonly timestamp: number;
  readonly amount: number;
  readonly fee: { readonly cost: number | undefined } | undefined;
  readonly info: { readonly billId: string };
};
type Bitget = {
  urls: { api: unknown };
  markets: object;
  fetchLedger(
    code: undefined,
    since: number,
    limit: number,
    params: object,
  ): Promise<readonly Entry[]>;
};

const { env } = process;
// Not a dependency of the root package, so its types are missing unless the benchmark is run.
const { bitget } = (await import("ccxt" as string)) as { bitget: new (options: object) => Bitget };
const exchange = new bitget({
  apiKey: env["EXCHANGE_API_KEY"],
  secret: env["EXCHANGE_API_SECRET"],
  password: env["EXCHANGE_API_PASSPHRASE"],
});
const baseUrl = env["EXCHANGE_BASE_URL"] ?? "";
exchange.urls.api = { mix: baseUrl, spot: baseUrl, common: baseUrl };
// Bills need no markets, and the sandbox does not serve them.
exchange.markets = {};

await loopByHand(async ({ productType, from, to }, idLessThan) => {
  const entries = await exchange.fetchLedger(undefined, from, pageSizeMax, {
    type: "swap",
    productType,
    endTime: String(to),
    ...(idLessThan !== undefined && { idLessThan }),
  });
  const ids = entries.map(({ id }) => BigInt(id)).sort((a, b) => (a < b ? -1 : 1));
  return {
    rows: entries.map(({ id, timestamp, amount, fee, info }) => ({
      id,
      time: timestamp,
      amount: String(amount),
      fee: String(fee?.cost ?? 0),
      raw: info,
    })),
    next: entries.length < pageSizeMax ? undefined : String(ids[0]),
  };
});
