/** Where a request was on its way there: sent by this machine's clock, taken by the exchange's. */
export type Arrival = { readonly sentAt: number; readonly requestTime: number };

/** What is known of the way there, in ms: the exchange's clock at the arrival less ours at the sending. */
export type WayThere = {
  observe(arrival: Arrival): void;
  /** What the next request's way will hardly fall below; undefined where too little is known. */
  leastMs(): number | undefined;
};

// At ten requests a second these are the last forty seconds: clocks drift, and routes change.
const waysKept = 400;
// As many as the first two bursts of a sync bring: what comes first on new connections may all come
// late, and the second burst would arrive too early by as much.
const waysTrusted = 20;
// Of n ways that are spread evenly above a least one, the next falls short of the shortest by
// more than k nths of their mean excess once in n·e^(k/2) times, of ways that crowd at their
// least once in n·e^k: with 14, less than once in 200 runs of 700 requests.
const caution = 14;
// A server that was idle takes the whole first burst some milliseconds later than the second.
const unseenExcessMs = 20;

/**
 * Learns the shortest way there from the answers' `requestTime`. It is told in two clocks, whose
 * offset is part of it and cancels out where it is used. The shortest of n is no bound for the
 * next, so it is taken to be shorter by a share of what the others have on top, which shrinks
 * with n.
 *
 * A way that is shorter than even that says that the past is no guide: a clock was set back, the
 * route is another, a server with a slower clock has joined. Then all is learned anew.
 */
export function createWayThere(): WayThere {
  let ways: number[] = [];

  const leastMs = () => {
    if (ways.length < waysTrusted) return undefined;
    const shortest = Math.min(...ways);
    const excess = ways.reduce((sum, way) => sum + (way - shortest), 0) / ways.length;
    return shortest - (caution * (excess + unseenExcessMs)) / ways.length;
  };

  return {
    observe({ sentAt, requestTime }) {
      const way = requestTime - sentAt;
      const isSurprise = way < (leastMs() ?? Number.NEGATIVE_INFINITY);
      ways = isSurprise ? [way] : [...ways.slice(1 - waysKept), way];
    },
    leastMs,
  };
}
