import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Secret } from "../../lib/secret.ts";
import { type EpochMs, secondMs } from "../../lib/time.ts";
import type { Operation } from "../contract/operation.ts";
import { type AddressLimits, createAddressLimits } from "./address-limits.ts";
import { type Client, type ClientDeps, createClient } from "./client.ts";
import { createExchangeClock, type ExchangeClock } from "./exchange-clock.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { openTransport, type Transport, transportLimits } from "./transport.ts";

/** The access to the exchange that all accounts of a process share. */
export type ExchangeAccess = {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  /** The limits of this machine's address. Default limits for one account alone. */
  readonly addressLimits?: AddressLimits;
  /** The limits of each of the exchange's users, whose accounts share them. Default none are shared. */
  readonly userLimits?: Map<string, Limiters>;
};

/** An account's or a user's limits, by the operation's name. */
type Limiters = Map<string, RateLimiter>;

/** Opens access to the exchange. Disposing closes its connections. */
export function openExchangeAccess({
  localAddress,
}: {
  readonly localAddress?: string | undefined;
} = {}): Required<ExchangeAccess> & AsyncDisposable {
  const transport = openTransport(transportLimits, localAddress);
  return {
    transport,
    clock: systemClock,
    random: Math.random,
    addressLimits: createAddressLimits(systemClock),
    userLimits: new Map(),
    [Symbol.asyncDispose]: () => Promise.resolve(transport[Symbol.asyncDispose]()),
  };
}

/** The exchange as one account sees it. */
export type AccountExchange = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly clock: ExchangeClock;
  /** From now on, keeps to the limits of a user, together with the user's other accounts. */
  readonly useLimitsOf: (uid: string) => Promise<void>;
};

/**
 * Builds a client for an account, with its own clock and its own limits below those of the address.
 */
export function openExchange(
  { baseUrl, proxy }: Pick<ClientDeps, "baseUrl"> & { readonly proxy?: Secret | undefined },
  account: Partial<Pick<ClientDeps, "credentials" | "demo">>,
  access: ExchangeAccess,
): AccountExchange {
  const { transport, clock, random, addressLimits = createAddressLimits(clock) } = access;
  const { userLimits = new Map<string, Limiters>() } = access;
  const exchangeClock = createExchangeClock(clock.now);
  let limiters: Limiters = new Map();
  const limiterOf = (operation: Operation): RateLimiter => {
    const limiter = limiters.get(operation.name);
    if (limiter !== undefined) return limiter;
    const newLimiter = addressLimits.under(operation, () =>
      createRateLimiter({ ...operation.limit, perMs: secondMs }, clock),
    );
    limiters.set(operation.name, newLimiter);
    return newLimiter;
  };
  const { credentials, demo = false } = account;
  const client = createClient({
    baseUrl,
    transport: (request) => transport({ ...request, proxy }),
    clock,
    random,
    exchangeClock,
    limiterOf,
    address: addressLimits,
    demo,
    ...(credentials === undefined ? {} : { credentials }),
  });
  const useLimitsOf = async (uid: string): Promise<void> => {
    const before = limiters;
    limiters = userLimits.get(uid) ?? before;
    userLimits.set(uid, limiters);
    // This account's last requests count for the user, too, and the user's limiters do not know of them.
    if (limiters !== before && before.size > 0) await clock.sleep(secondMs);
  };
  return { client, exchangeNow: exchangeClock.now, clock: exchangeClock, useLimitsOf };
}
