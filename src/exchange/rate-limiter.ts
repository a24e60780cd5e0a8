import { once } from "node:events";
import PQueue from "p-queue";
import type { Clock } from "../clock.ts";
import { type Arrival, createOneWayDelay } from "./one-way-delay.ts";

export type RateLimiter = {
  /**
   * Sends when the limit allows. The signal ends the waiting, never a request on its way.
   * @param send is given what to call with the answer's `requestTime`, where it has one.
   * @throws what `send` throws, or the signal's reason.
   */
  run<T>(
    send: (arrived: (arrival: Arrival) => void) => Promise<T>,
    signal?: AbortSignal,
    priority?: number,
  ): Promise<T>;
  /** Sends nothing new for this long: the exchange said that it was too much. */
  holdOff(ms: number): void;
  /**
   * From now on so many requests a period, of the limit's own length unless it is given. Resolves
   * once the slots beyond them have been given up, each when its request is answered and a period
   * old; or once it is resized again.
   */
  resize(requests: number, perMs?: number): Promise<void>;
};

/**
 * At most this many requests may arrive at the exchange in any rolling stretch of `perMs`. The numbers are each
 * operation's `limit` in src/contract, and `addressLimit` in address-limits.ts for all operations together.
 */
export type RateLimit = { readonly requests: number; readonly perMs: number };

// Both clocks are told in whole milliseconds, each up to one too early.
const marginMs = 2;

/**
 * Holds a rate limit as the exchange counts it, at the arrival of requests there, over a network
 * whose delays are not known. A request has a slot, and the next one in it must not arrive
 * within a period of the first. So it is sent a period after the first one's arrival, as the
 * answer's `requestTime` tells it, less the shortest one-way delay (one-way-delay.ts), and at the
 * latest a period after the answer: that holds whatever the network does, and is what remains where times
 * are missing, absurd, or jump. At the earliest it is sent a period after the first one was,
 * whatever the times say: an arrival is never dated earlier than the sending plus its own delay.
 *
 * The price is what a delay has on top of the shortest one: at round trips of 50 ± 5, 300 ± 30
 * and 800 ± 80 ms, 99.4, 98.1 and 95.5 % of the limit are used, and none of 10,000 requests is
 * refused. Waiting a second after the answer uses 95, 77 and 55 %; less the fastest round trip,
 * up to 1,199 are refused where each takes another route. A window counted at the sender,
 * p-queue's own, gets one in six refused: requests that are held up on their way arrive with
 * those sent a second later. `npm run bench -- limiter` prints it.
 */
export function createRateLimiter(limit: RateLimit, clock: Clock): RateLimiter {
  const queue = new PQueue({ concurrency: limit.requests });
  const oneWayDelay = createOneWayDelay();
  let { perMs } = limit;
  let heldUntil = 0;

  /** When the next request may be sent in the slot of one that ended at `endedAt`. */
  function freeAt(endedAt: number, arrival: Arrival | undefined): number {
    const leastDelayMs = oneWayDelay.leastMs();
    if (arrival === undefined || leastDelayMs === undefined) return endedAt + perMs + marginMs;
    const leftMs = Math.min(endedAt, arrival.requestTime - leastDelayMs);
    return leftMs + perMs + marginMs;
  }

  async function useSlot<T>(
    send: (arrived: (arrival: Arrival) => void) => Promise<T>,
    settle: PromiseWithResolvers<T>,
  ): Promise<void> {
    const sentAt = clock.now();
    let arrival: Arrival | undefined;
    const arrived = (told: Arrival) => {
      arrival = told;
      oneWayDelay.observe(told);
    };
    await send(arrived).then(settle.resolve, settle.reject);
    const endedAt = clock.now();
    await sleepUntil(clock, () => sentAt + perMs);
    // Computed again at each waking: what came in meanwhile tells more of the delay.
    await sleepUntil(clock, () => freeAt(endedAt, arrival));
  }

  return {
    async run<T>(
      send: (arrived: (arrival: Arrival) => void) => Promise<T>,
      signal?: AbortSignal,
      priority = 0,
    ) {
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
      queue.add(slot, { signal: waiting.signal, priority }).catch(settle.reject);
      return settle.promise;
    },

    holdOff(ms) {
      const until = clock.now() + ms;
      if (until <= heldUntil) return;
      heldUntil = until;
      queue.pause();
      void sleepUntil(clock, () => until + marginMs).then(() => {
        if (heldUntil === until) queue.start();
      });
    },

    async resize(requests, periodMs = limit.perMs) {
      perMs = periodMs;
      queue.concurrency = requests;
      while (queue.pending > requests && queue.concurrency === requests) {
        await once(queue, "next");
      }
    },
  };
}

/** Timers fire early: by a millisecond, and by what the event loop did before they were set. */
async function sleepUntil(clock: Clock, time: () => number): Promise<void> {
  for (let leftMs = time() - clock.now(); leftMs > 0; leftMs = time() - clock.now()) {
    await clock.sleep(Math.max(2, leftMs));
  }
}
