/** A request's times: when it was sent by this machine's clock, and when it arrived by the exchange's. */
export type Arrival = { readonly sentAt: number; readonly requestTime: number };

/**
 * The one-way delay of requests to the exchange, in ms: arrival by the exchange's clock less sending by
 * this machine's clock. It includes the offset between the two clocks.
 */
type OneWayDelay = {
  observe(arrival: Arrival): void;
  /** A lower bound for the next request's delay; undefined until enough requests were observed. */
  leastMs(): number | undefined;
};

// The last forty seconds at ten requests a second. Older delays are dropped: clocks drift, and routes change.
const delaysKept = 400;
// The first two bursts of a sync give this many. The first burst opens connections, so all its requests may
// arrive late. An estimate from it alone would let the second burst arrive too early.
const delaysTrusted = 20;
// The next delay may be shorter than the shortest of n. If delays are spread evenly above a minimum, it is
// shorter by more than k/n of their mean excess once in n·e^(k/2) requests; if they crowd near the minimum,
// once in n·e^k. With k = 14 that was once in 900 runs of 200 requests whose delays vary by 300 ms, and a limit of one
// request a second was exceeded; with k = 28 it was in none of 200,000 runs, and costs 0.2 % of the limit.
const caution = 28;
// An idle server accepts the whole first burst some milliseconds later than the second.
const unseenExcessMs = 20;

/**
 * Estimates the shortest one-way delay from the answers' `requestTime`. The clocks' offset cancels out
 * where the estimate is used. The next delay may be shorter than the shortest of n observed ones, so the
 * estimate is lower than that by a share of the mean excess over it. The share shrinks with n.
 *
 * A delay below the estimate shows that earlier delays no longer apply: a clock was set back, the route
 * changed, or a server with a slower clock has joined. The estimate then starts over.
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
