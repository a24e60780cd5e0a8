import PQueue from "p-queue";
import type { Clock } from "../clock.ts";

export type RateLimiter = {
  /**
   * Sends when the limit allows. The signal ends the waiting, never a request on its way.
   * @throws what `send` throws, or the signal's reason.
   */
  run<T>(send: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Sends nothing new for this long: the exchange said that it was too much. */
  holdOff(ms: number): void;
};

/** At most this many requests may arrive at the exchange in any rolling stretch of `perMs`. */
export type RateLimit = { readonly requests: number; readonly perMs: number };

// A timer of Node may fire up to a millisecond early: 3 of 400 did.
const timerMarginMs = 2;

/**
 * Holds a rate limit as the exchange counts it, at the arrival of requests there, over a way
 * whose delays are not known. A request has a slot, and the slot is free again one period
 * after its *answer*: the next request in it then cannot arrive within a period of the first,
 * whatever the way does.
 *
 * The price is the way: at round trips of 50, 100, 300 and 800 ms, 95, 91, 77 and 55 % of the
 * limit are used. Freeing the slot earlier by half of the fastest round trip wins 2 to 14 %,
 * but one request's way back and the next one's way there may be shorter together than any
 * round trip was: 74 to 242 of 10,000 requests are refused where each takes another route. A
 * window counted at the sender, p-queue's own, gets one in six refused: requests that are held
 * up on their way arrive with those sent a second later. `npm run bench -- limiter` prints it.
 */
export function createRateLimiter(limit: RateLimit, clock: Clock): RateLimiter {
  const queue = new PQueue({ concurrency: limit.requests });
  let heldUntil = 0;

  async function useSlot<T>(send: () => Promise<T>, settle: PromiseWithResolvers<T>) {
    await send().then(settle.resolve, settle.reject);
    await clock.sleep(limit.perMs + timerMarginMs);
  }

  return {
    async run<T>(send: () => Promise<T>, signal?: AbortSignal) {
      signal?.throwIfAborted();
      const settle = Promise.withResolvers<T>();
      const waiting = new AbortController();
      const giveUp = () => waiting.abort(signal?.reason);
      signal?.addEventListener("abort", giveUp, { once: true });
      const slot = () => {
        // From here on an abort would free the slot too early.
        signal?.removeEventListener("abort", giveUp);
        return useSlot(send, settle);
      };
      queue.add(slot, { signal: waiting.signal }).catch(settle.reject);
      return settle.promise;
    },

    holdOff(ms) {
      const until = clock.now() + ms;
      if (until <= heldUntil) return;
      heldUntil = until;
      queue.pause();
      void clock.sleep(ms + timerMarginMs).then(() => {
        // Not compared with the clock: a timer that fired early would never start it again.
        if (heldUntil === until) queue.start();
      });
    },
  };
}
