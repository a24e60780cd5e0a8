/** One request: when this machine's clock says it was sent, and when the exchange's says it arrived. */
export type Arrival = { readonly sentAt: number; readonly requestTime: number };

/**
 * The one-way delay of requests to the exchange, in ms: the exchange's clock at the arrival less
 * this machine's clock at the sending. The offset between the two clocks is part of it.
 */
export type OneWayDelay = {
  observe(arrival: Arrival): void;
  /** A lower bound for the next request's delay; undefined until enough requests were observed. */
  leastMs(): number | undefined;
};

// At ten requests a second these are the last forty seconds: clocks drift, and routes change.
const delaysKept = 400;
// As many as the first two bursts of a sync bring: the requests of the first burst, on new
// connections, may all arrive late, and the second burst would then arrive too early by as much.
const delaysTrusted = 20;
// Of n delays that are spread evenly above a least one, the next falls short of the shortest by
// more than k nths of their mean excess once in n·e^(k/2) times, of delays that crowd at their
// least once in n·e^k: with 14, less than once in 200 runs of 700 requests.
const caution = 14;
// A server that was idle takes the whole first burst some milliseconds later than the second.
const unseenExcessMs = 20;

/**
 * Estimates the shortest one-way delay from the answers' `requestTime`. The offset of the clocks
 * cancels out where the estimate is used. The shortest of n observed delays is no bound for the
 * next one, so the estimate lies below it by a share of the others' mean excess; the share shrinks
 * with n.
 *
 * A delay below the estimate shows that the past is no guide: a clock was set back, the route
 * changed, or a server with a slower clock has joined. Then the estimate begins anew.
 */
export function createOneWayDelay(): OneWayDelay {
  let delays: number[] = [];

  const leastMs = () => {
    if (delays.length < delaysTrusted) return undefined;
    const shortest = Math.min(...delays);
    const excess = delays.reduce((sum, delay) => sum + (delay - shortest), 0) / delays.length;
    return shortest - (caution * (excess + unseenExcessMs)) / delays.length;
  };

  return {
    observe({ sentAt, requestTime }) {
      const delay = requestTime - sentAt;
      const isSurprise = delay < (leastMs() ?? Number.NEGATIVE_INFINITY);
      delays = isSurprise ? [delay] : [...delays.slice(1 - delaysKept), delay];
    },
    leastMs,
  };
}
