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

// The share of the fastest round trip that a slot is freed early, and the answers needed
// before that round trip is believed: see bench/rate-limiter.ts, which prints what they cost.
const roundTripShare = 0.5;
const answersTrusted = 20;
// A timer of Node may fire up to a millisecond early.
const timerMarginMs = 2;

/**
 * Holds a rate limit as the exchange counts it, at the arrival of requests there, over a way
 * whose delays are not known. A request has a slot, and the slot is free again one period
 * after its *answer*: the next request in it then cannot arrive within a period of the first,
 * whatever the way does. Once enough answers are in, the slot is freed earlier by half of
 * the fastest round trip, which a pair of requests saves on the two ways together.
 *
 * A window counted at the sender is not enough: ten requests that were held up on their way
 * arrive together with the ten that were sent a second later.
 */
export function createRateLimiter(limit: RateLimit, clock: Clock): RateLimiter {
  const queue = new PQueue({ concurrency: limit.requests });
  let fastestMs = Number.POSITIVE_INFINITY;
  let answers = 0;
  let heldUntil = 0;

  const waitAfterAnswerMs = (): number => {
    const earlierMs = answers < answersTrusted ? 0 : Math.floor(fastestMs * roundTripShare);
    return limit.perMs - earlierMs + timerMarginMs;
  };

  async function useSlot<T>(send: () => Promise<T>, settle: PromiseWithResolvers<T>) {
    const sentAt = clock.now();
    await send().then(
      (answer) => {
        answers += 1;
        fastestMs = Math.min(fastestMs, clock.now() - sentAt);
        settle.resolve(answer);
      },
      (error) => settle.reject(error),
    );
    await clock.sleep(waitAfterAnswerMs());
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
      void clock.sleep(ms).then(() => {
        if (clock.now() >= heldUntil) queue.start();
      });
    },
  };
}
