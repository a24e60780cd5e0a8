import type { Clock } from "../clock.ts";
import type { Account, Config } from "../config/config.ts";
import type { Operation } from "../contract/operation.ts";
import type { EpochMs } from "../contract/time.ts";
import { type AddressLimits, createAddressLimits } from "../exchange/address-limits.ts";
import { type Client, createClient } from "../exchange/client.ts";
import { createExchangeClock, type ExchangeClock } from "../exchange/exchange-clock.ts";
import { createRateLimiter, type RateLimiter } from "../exchange/rate-limiter.ts";
import type { Transport } from "../exchange/transport.ts";

/** The exchange as one account sees it. */
export type AccountExchange = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly clock: ExchangeClock;
};

/** Wires a client for an account: its own clock, and its own limits under those of the address. */
export function exchangeOf(
  config: Pick<Config, "baseUrl" | "locale">,
  account: Pick<Account, "credentials">,
  deps: {
    readonly transport: Transport;
    readonly clock: Clock;
    readonly random: () => number;
    /** Where accounts are asked for side by side, all of them share these. */
    readonly addressLimits?: AddressLimits;
  },
): AccountExchange {
  const { addressLimits = createAddressLimits(deps.clock) } = deps;
  const exchangeClock = createExchangeClock(deps.clock.now);
  const limiters = new Map<string, RateLimiter>();
  const limiterOf = (operation: Operation): RateLimiter => {
    const known = limiters.get(operation.name);
    if (known !== undefined) return known;
    const limiter = addressLimits.under(operation, () =>
      createRateLimiter(operation.limit, deps.clock),
    );
    limiters.set(operation.name, limiter);
    return limiter;
  };
  const { baseUrl, locale } = config;
  const { credentials } = account;
  const client = createClient({
    baseUrl,
    locale,
    ...deps,
    exchangeClock,
    limiterOf,
    ...(credentials === undefined ? {} : { credentials }),
  });
  return { client, exchangeNow: exchangeClock.now, clock: exchangeClock };
}
