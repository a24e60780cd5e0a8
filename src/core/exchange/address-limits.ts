import PQueue from "p-queue";
import type { Clock } from "../../lib/clock.ts";
import type { ExchangeError } from "../../lib/errors.ts";
import { hourMs, secondMs } from "../../lib/time.ts";
import { accountBills } from "../contract/account-bills.ts";
import type { Operation } from "../contract/operation.ts";
import { createRateLimiter, type RateLimit, type RateLimiter } from "./rate-limiter.ts";

/**
 * The limit of this machine's address over all operations. The exchange accepts 6,000 requests a minute
 * from an address, and locks it out for five minutes beyond that. This limit is 5,400 a minute, counted
 * per second. So a run that begins right after another one, whose requests it does not know, adds at most
 * 90 requests to the minute of the other.
 */
export const addressLimit: RateLimit = { requests: 90, perMs: secondMs };

/** The limits of this machine's address. All accounts of a process share them. */
export type AddressLimits = AddressBan & {
  /**
   * Combines an operation's limiter with the limit of the address.
   * @param createUserLimiter makes the account's limiter, for an operation that is limited by user id.
   */
  under(operation: Operation, createUserLimiter: () => RateLimiter): RateLimiter;
};

/** The exchange's ban of the address, which all accounts of a process share. */
export type AddressBan = {
  /** The error that stopped all requests; undefined while requests may be sent. */
  ban(): ExchangeError | undefined;
  /**
   * Counts a refusal, and returns how many bans followed one another, each less than an hour after the
   * end of the one before. Refusals of requests that were under way at the same time count as one ban.
   * @param sentAt when the refused request was sent.
   */
  countBan(sentAt: number): number;
  /**
   * All accounts wait for `delayMs`, then send one request at a time until one is answered. "stop" stops all
   * requests.
   */
  banned(error: ExchangeError, delayMs: number | "stop"): void;
  /** Tells that a request was answered: the ban is over if the request was sent after it. */
  admitted(sentAt: number): void;
};

export function createAddressLimits(clock: Clock): AddressLimits {
  const allRequests = createRateLimiter(addressLimit, clock);
  const byOperation = new Map<string, RateLimiter>();
  return {
    ...addressBan(allRequests, clock),
    under(operation, createUserLimiter) {
      if (operation.limit.scope === "uid") return both(createUserLimiter(), allRequests);
      const limiter = byOperation.get(operation.name);
      if (limiter !== undefined) return limiter;
      const shared = both(
        createRateLimiter({ ...operation.limit, perMs: secondMs }, clock),
        allRequests,
      );
      byOperation.set(operation.name, shared);
      return shared;
    },
  };
}

function addressBan(allRequests: RateLimiter, clock: Clock): AddressBan {
  let ban: ExchangeError | undefined;
  let times = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let isTrying = false;
  const resume = () => {
    if (isTrying) void allRequests.resize(addressLimit.requests);
    isTrying = false;
  };
  return {
    ban: () => ban,
    countBan(sentAt) {
      if (sentAt >= pausedUntil) {
        times = sentAt - pausedUntil < hourMs ? times + 1 : 1;
        pausedUntil = clock.now();
      }
      return times;
    },
    banned(error, delayMs) {
      if (delayMs === "stop") {
        ban ??= error;
        // Waiting requests get their turn now, and fail with the ban.
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
 * Sends when both limits allow. The slot of the narrow limit is taken first: a request that then waits
 * for the wide limit blocks only requests of its own narrow limit. A slot of the wide limit that was held
 * without being used would be lost to all. A refusal pauses the narrow limiter only, because it does not
 * say which limit was exceeded. Where the address's was, each account is refused and pauses by itself.
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

/**
 * Twice as many as use up the limit of this machine's address. More would only hold leases, and
 * pages that wait for the database.
 */
export const accountsAtOnce = 2 * Math.ceil(addressLimit.requests / accountBills.limit.requests);

/**
 * Reads accounts side by side, so many at once.
 * @returns what `read` returned, in the order of the accounts.
 */
export function readSideBySide<Account, Report>(
  accounts: readonly Account[],
  read: (account: Account) => Promise<Report>,
): Promise<readonly Report[]> {
  const queue = new PQueue({ concurrency: accountsAtOnce });
  return Promise.all(accounts.map((account) => queue.add(() => read(account))));
}
