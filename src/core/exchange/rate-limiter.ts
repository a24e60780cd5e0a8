import { once } from "node:events";
import PQueue from "p-queue";
import type { Clock } from "../../lib/clock.ts";
import { type Arrival, createOneWayDelay } from "./one-way-delay.ts";

export type RateLimiter = {
  /**
   * Calls `send` when the limit allows. The signal ends the wait, never a request that was sent.
   * @param send calls its argument with the answer's `requestTime`, if the answer has one.
   * @throws what `send` throws, or the signal's reason.
   */
  run<T>(
    send: (arrived: (arrival: Arrival) => void) => Promise<T>,
    signal?: AbortSignal,
    priority?: number,
  ): Promise<T>;
  /** Sends nothing new for this long, after the exchange refused a request as too many. */
  holdOff(ms: number): void;
  /**
   * Allows so many requests in a period from now on. With fewer requests than before, it resolves once the surplus slots are free, or once it is resized again.
   * A slot is free when its request was answered and the next one might have been sent.
   */
  resize(requests: number): Promise<void>;
};

/**
 * At most this many requests may arrive at the exchange in any rolling period of `perMs`. The numbers are in
 * each operation's `limit` in core/contract. `addressLimit` in address-limits.ts is for all operations together.
 */
export type RateLimit = { readonly requests: number; readonly perMs: number };

// Both clocks are read in whole milliseconds, rounded down: each may be up to 1 ms behind.
const marginMs = 2;

/**
 * Keeps a rate limit as the exchange counts it: by the arrival of requests there, over a network with
 * unknown delays. Each request takes a slot. The next request in a slot must arrive at least a period
 * after the one before it. When it is sent is decided by three rules:
 *
 * - A period after the previous request's arrival, less the shortest one-way delay (one-way-delay.ts). The
 *   answer's `requestTime` tells the arrival.
 * - At the latest a period after the previous answer. This is safe on any network, and is the rule that
 *   remains where times are missing, absurd, or jump.
 * - At the earliest a period after the previous request was sent, whatever the times say: an earlier time
 *   would mean that a delay was shorter than the shortest.
 *
 * The cost is each delay's excess over the shortest. At round trips of 50 ± 5, 300 ± 30 and 800 ± 80 ms,
 * 99.3, 98.0 and 95.3 % of the limit are used, and none of 10,000 requests is refused. The alternatives:
 *
 * - Waiting a second after the answer uses 95, 77 and 55 %.
 * - Waiting a second less the fastest round trip gets up to 1,199 refused where requests take different routes.
 * - Counting at the sender, as p-queue does, gets one in six refused: requests that are delayed on their way
 *   arrive together with those sent a second later.
 *
 * `npm run bench -- limiter` prints these figures.
 */
export function createRateLimiter(limit: RateLimit, clock: Clock): RateLimiter {
  const queue = new PQueue({ concurrency: limit.requests });
  const oneWayDelay = createOneWayDelay();
  const { perMs } = limit;
  let pausedUntil = 0;

  /** When the next request may be sent in the slot of a request that was answered at `endedAt`. */
  function freeAt(endedAt: number, arrival: Arrival | undefined): number {
    const leastDelayMs = oneWayDelay.leastMs();
    if (arrival === undefined || leastDelayMs === undefined) return endedAt + perMs + marginMs;
    const sentBefore = Math.min(endedAt, arrival.requestTime - leastDelayMs);
    return sentBefore + perMs + marginMs;
  }

  async function useSlot<T>(
    send: (arrived: (arrival: Arrival) => void) => Promise<T>,
    answer: PromiseWithResolvers<T>,
  ): Promise<void> {
    const sentAt = clock.now();
    let arrival: Arrival | undefined;
    const arrived = (newest: Arrival) => {
      arrival = newest;
      oneWayDelay.observe(newest);
    };
    await send(arrived).then(answer.resolve, answer.reject);
    const endedAt = clock.now();
    await sleepUntil(clock, () => sentAt + perMs);
    // Computed again at each waking: other answers may have changed the delay's estimate meanwhile.
    await sleepUntil(clock, () => freeAt(endedAt, arrival));
  }

  return {
    async run<T>(
      send: (arrived: (arrival: Arrival) => void) => Promise<T>,
      signal?: AbortSignal,
      priority = 0,
    ) {
      signal?.throwIfAborted();
      const answer = Promise.withResolvers<T>();
      const waiting = new AbortController();
      const giveUp = () => waiting.abort(signal?.reason);
      signal?.addEventListener("abort", giveUp, { once: true });
      const slot = () => {
        // An abort from now on would free the slot too early.
        signal?.removeEventListener("abort", giveUp);
        return useSlot(send, answer);
      };
      queue.add(slot, { signal: waiting.signal, priority }).catch(answer.reject);
      return answer.promise;
    },

    holdOff(ms) {
      const until = clock.now() + ms;
      if (until <= pausedUntil) return;
      pausedUntil = until;
      queue.pause();
      void sleepUntil(clock, () => until + marginMs).then(() => {
        if (pausedUntil === until) queue.start();
      });
    },

    async resize(requests) {
      queue.concurrency = requests;
      while (queue.pending > requests && queue.concurrency === requests) {
        await once(queue, "next");
      }
    },
  };
}

/**
 * Sleeps until a time, which may change meanwhile. It sleeps again where a timer fired early: by 1 ms, or by
 * the event loop's work before the timer was set.
 */
async function sleepUntil(clock: Clock, time: () => number): Promise<void> {
  for (let leftMs = time() - clock.now(); leftMs > 0; leftMs = time() - clock.now()) {
    await clock.sleep(Math.max(2, leftMs));
  }
}
