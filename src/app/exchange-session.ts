import { type Clock, systemClock } from "../clock.ts";
import type { Account } from "../config/account.ts";
import type { Config } from "../config/config.ts";
import { billsOperations } from "../contract/bills-api.ts";
import type { Operation } from "../contract/operation.ts";
import type { EpochMs } from "../contract/time.ts";
import type { Egress } from "../db/lease/neighbours.ts";
import type { RateShare } from "../db/lease/sync-lease.ts";
import { verifyShareOf } from "../db/lease/verify-lease.ts";
import { type AddressLimits, createAddressLimits } from "../exchange/address-limits.ts";
import { type Client, createClient } from "../exchange/client.ts";
import { createExchangeClock, type ExchangeClock } from "../exchange/exchange-clock.ts";
import { createRateLimiter, type RateLimiter } from "../exchange/rate-limiter.ts";
import { openTransport, type Transport, transportLimits } from "../exchange/transport.ts";

/** What all accounts of a process share for reaching the exchange. */
export type ExchangeAccess = {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  /** The limits of this machine's address. Default limits for one account alone. */
  readonly addressLimits?: AddressLimits;
};

/** Opens access to the exchange. Disposing closes its connections. */
export function openExchangeAccess({
  localAddress,
}: Pick<Egress, "localAddress"> = {}): Required<ExchangeAccess> & AsyncDisposable {
  const transport = openTransport(transportLimits, localAddress);
  return {
    transport,
    clock: systemClock,
    random: Math.random,
    addressLimits: createAddressLimits(systemClock),
    [Symbol.asyncDispose]: () => Promise.resolve(transport[Symbol.asyncDispose]()),
  };
}

/** The exchange as one account sees it. */
export type AccountExchange = {
  readonly client: Client;
  readonly exchangeNow: () => EpochMs;
  readonly clock: ExchangeClock;
  /** How a sync leaves part of the bills' rate limit to a verify. */
  readonly rateShare: RateShare;
  /** From now on, sends no more than a verify's share of the rate limit. */
  readonly useVerifyShare: () => Promise<void>;
};

/**
 * Builds a client for an account, with its own clock and its own limits below those of the address.
 */
export function exchangeOf(
  config: Pick<Config, "baseUrl" | "locale">,
  account: Pick<Account, "credentials" | "demo">,
  access: ExchangeAccess,
): AccountExchange {
  const { transport, clock, random, addressLimits = createAddressLimits(clock) } = access;
  const exchangeClock = createExchangeClock(clock.now);
  const limiters = new Map<string, RateLimiter>();
  const limiterOf = (operation: Operation): RateLimiter => {
    const known = limiters.get(operation.name);
    if (known !== undefined) return known;
    const limiter = addressLimits.under(operation, () => createRateLimiter(operation.limit, clock));
    limiters.set(operation.name, limiter);
    return limiter;
  };
  const { baseUrl, locale } = config;
  const { credentials, demo = false } = account;
  const client = createClient({
    baseUrl,
    locale,
    transport,
    clock,
    random,
    exchangeClock,
    limiterOf,
    address: addressLimits,
    demo,
    ...(credentials === undefined ? {} : { credentials }),
  });
  const resize = async (share: (requests: number) => number): Promise<void> => {
    const limits = billsOperations.map((one) => limiterOf(one).resize(share(one.limit.requests)));
    await Promise.all(limits);
  };
  const rateShare: RateShare = {
    async leaveShare() {
      await resize((requests) => requests - verifyShareOf(requests));
      // A slot is freed after this process's one-way delay. The verify's delay may be shorter.
      await clock.sleep(Math.max(...billsOperations.map(({ limit }) => limit.perMs)));
    },
    takeBack: () => void resize((requests) => requests),
  };
  return {
    client,
    exchangeNow: exchangeClock.now,
    clock: exchangeClock,
    rateShare,
    useVerifyShare: () => resize(verifyShareOf),
  };
}
