import type { Clock } from "../clock.ts";
import type { Operation } from "../contract/operation.ts";
import { secondMs } from "../contract/time.ts";
import type { ExchangeError } from "../errors.ts";
import { createRateLimiter, type RateLimit, type RateLimiter } from "./rate-limiter.ts";

/**
 * The exchange takes 6,000 requests a minute from an address over all operations, and locks it
 * out for five minutes where there are more. This is 5,400 a minute, counted by the second: a
 * run that begins right after another one, whose requests it does not know, adds at most a
 * second's to that one's minute.
 */
export const addressLimit: RateLimit = { requests: 90, perMs: secondMs };

/**
 * What several processes share. Each learns of a new one within a second, in which that one and those
 * that began with it may send ten requests each: for a hundred of them that are 1,000 beside 4,800.
 */
const sharedPerSecond = 80;

/** The limit of one of so many processes: of more than eighty, less than one request a second. */
function shareOf(processes: number): RateLimit {
  if (processes <= 1) return addressLimit;
  const requests = Math.max(1, Math.floor(sharedPerSecond / processes));
  const perMs = Math.max(secondMs, Math.ceil((secondMs * processes) / sharedPerSecond));
  return { requests, perMs };
}

/** The limits of this machine's address, which all accounts of a process share. */
export type AddressLimits = AddressBan & {
  /** Puts an account's own limiter of an operation under the limits of the address. */
  under(operation: Operation, own: () => RateLimiter): RateLimiter;
  /** Leaves other processes of this machine their share: so many send from the address, this one too. */
  shareAmong(processes: number): void;
};

/** What all accounts know of their address being banned. */
export type AddressBan = {
  /** The error that ended all asking; undefined while requests may be sent. */
  ban(): ExchangeError | undefined;
  /**
   * How often the address was banned by now. Requests that were on their way together are told of
   * one ban.
   * @param sentAt when the request left that was told so.
   */
  countBan(sentAt: number): number;
  /** All accounts wait so long, then send one request at a time until an answer comes. "stop" ends all asking. */
  banned(error: ExchangeError, delayMs: number | "stop"): void;
  /** An answer came. */
  admitted(sentAt: number): void;
};

export function createAddressLimits(clock: Clock): AddressLimits {
  const allRequests = createRateLimiter(addressLimit, clock);
  const byOperation = new Map<string, RateLimiter>();
  return {
    ...addressBan(allRequests, clock),
    under(operation, own) {
      if (operation.limit.scope === "uid") return both(own(), allRequests);
      const known = byOperation.get(operation.name);
      if (known !== undefined) return known;
      const shared = both(createRateLimiter(operation.limit, clock), allRequests);
      byOperation.set(operation.name, shared);
      return shared;
    },
  };
}

function addressBan(
  allRequests: RateLimiter,
  clock: Clock,
): AddressBan & Pick<AddressLimits, "shareAmong"> {
  let share = addressLimit;
  let ban: ExchangeError | undefined;
  let times = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isTrying = false;
  const resume = () => {
    if (isTrying) void allRequests.resize(share.requests, share.perMs);
    isTrying = false;
  };
  return {
    shareAmong(processes) {
      share = shareOf(processes);
      if (!isTrying) void allRequests.resize(share.requests, share.perMs);
    },
    ban: () => ban,
    countBan(sentAt) {
      if (sentAt >= pausedUntil) {
        times += 1;
        pausedUntil = clock.now();
      }
      return times;
    },
    banned(error, delayMs) {
      if (delayMs === "stop") {
        ban ??= error;
        // Those who wait fail at once.
        resume();
        return;
      }
      pausedUntil = Math.max(pausedUntil, clock.now() + delayMs);
      allRequests.holdOff(delayMs);
      void allRequests.resize(1);
      isTrying = true;
    },
    admitted(sentAt) {
      if (sentAt >= pausedUntil) resume();
    },
  };
}

/**
 * Sends when both limits allow. The narrow one's slot is taken first: who waits for the wide one
 * then holds up nobody but itself, while a slot of the wide one that is held and not used would
 * be lost to all. A refusal holds off the narrow one alone: it does not say whose limit it was,
 * and where it was the address's, each account is refused, and pauses, by itself.
 */
const both = (narrow: RateLimiter, wide: RateLimiter): RateLimiter => ({
  run: (send, signal, priority) =>
    narrow.run(
      (arrivedNarrow) =>
        wide.run(
          (arrivedWide) =>
            send((arrival) => {
              arrivedNarrow(arrival);
              arrivedWide(arrival);
            }),
          signal,
          priority,
        ),
      signal,
      priority,
    ),
  holdOff: narrow.holdOff,
  resize: narrow.resize,
});
