import type { Arrival } from "../src/core/exchange/one-way-delay.ts";
import { createRateLimiter } from "../src/core/exchange/rate-limiter.ts";
import type { Clock } from "../src/lib/clock.ts";
import { secondMs } from "../src/lib/time.ts";
import { integer, type Random, seededRandom } from "../src/wings/sandbox/random.ts";
import { virtualClock } from "../test/support/virtual-clock.ts";
import type { BenchOptions, BenchResult } from "./result.ts";

/*
 * What the rate limiter costs and what it risks. Simulated requests have varying one-way delays, and
 * the exchange counts each when it arrives. Prints how many of 10,000 are refused, and which share
 * of the limit brings answers. Time is simulated, so equal runs print equal numbers.
 */

const limit = { requests: 10, perMs: secondMs };
// As many as the walks of a sync. More than the limit has slots; each waits for its answer.
const senders = 16;
const startedAt = Date.UTC(2025, 0, 1);

type Send = (arrived: (arrival: Arrival) => void) => Promise<Arrival>;
type Delays = { readonly there: number; readonly back: number };
/** The error of a server's clock at a true time. */
type ServerClock = (random: Random, at: number) => number;

const roundTrips = [
  { meanMs: 50, spreadMs: 5 },
  { meanMs: 100, spreadMs: 30 },
  { meanMs: 300, spreadMs: 30 },
  { meanMs: 300, spreadMs: 150 },
  { meanMs: 800, spreadMs: 80 },
];

/** How a round trip is split into its two one-way delays. */
const splits = {
  even: (least, extra) => ({ there: (least + extra) / 2, back: (least + extra) / 2 }),
  // Each direction has a minimum delay; the rest is split at random.
  jitter: (least, extra, random) => {
    const there = least / 2 + extra * random();
    return { there, back: least + extra - there };
  },
  // No direction has a minimum delay, as if every request took another route.
  routes: (least, extra, random) => {
    const there = (least + extra) * random();
    return { there, back: least + extra - there };
  },
} satisfies Record<string, (least: number, extra: number, random: Random) => Delays>;

/** Counts like the most lenient exchange: refused requests do not count against the limit. */
function exchange() {
  let served: number[] = [];
  let refused = 0;
  return {
    arrive(at: number) {
      served = served.filter((time) => time > at - limit.perMs);
      if (served.length < limit.requests) served.push(at);
      else refused += 1;
    },
    refused: () => refused,
  };
}

/** Timers with whole milliseconds that fire up to one millisecond early or late, as Node's do. */
const nodeTimers = ({ now, sleep }: Clock, random: Random): Clock => ({
  now,
  sleep: (ms, signal) => sleep(Math.max(1, Math.trunc(ms)) - 1 + 2 * random(), signal),
});

/** How many of 10,000 requests were refused, and which share of the limit brought answers. */
type Figures = { readonly refused: number; readonly used: number };

async function simulate(
  { drawDelays, serverClock }: Pick<Cell, "drawDelays" | "serverClock">,
  requests: number,
  seed: string,
): Promise<Figures> {
  const random = seededRandom(seed);
  const time = virtualClock(startedAt + integer(random, 0, secondMs));
  const clock = nodeTimers(time.clock, random);
  const began = time.now();
  const { arrive, refused } = exchange();
  const { run } = createRateLimiter(limit, clock);
  const send: Send = async (arrived) => {
    const { there, back } = drawDelays(random);
    const sentAt = clock.now();
    await time.clock.sleep(there);
    arrive(time.now());
    const requestTime = Math.floor(time.now() + serverClock(random, time.now() - startedAt));
    await time.clock.sleep(back);
    arrived({ sentAt, requestTime });
    return { sentAt, requestTime };
  };
  let left = requests;
  const sender = async () => {
    while (left-- > 0) await run(send);
  };
  await time.run(Promise.all(Array.from({ length: senders }, sender)), { settleTurns: 1 });
  const possible = ((time.now() - began) / limit.perMs) * limit.requests;
  return {
    refused: Math.round((10_000 * refused()) / requests),
    used: (requests - refused()) / possible,
  };
}

type Cell = {
  readonly trip: string;
  readonly split: string;
  readonly drawDelays: (random: Random) => Delays;
  readonly serverClock: ServerClock;
};

const cells: readonly Cell[] = roundTrips.flatMap(({ meanMs, spreadMs }) =>
  Object.entries(splits).map(([split, drawSplit]) => ({
    trip: `${meanMs}±${spreadMs} ms`,
    split,
    drawDelays: (random: Random) => drawSplit(meanMs - spreadMs, 2 * spreadMs * random(), random),
    serverClock: () => 0,
  })),
);

/** Clocks that are wrong, at 300 ± 30 ms. */
const clockCells: readonly Cell[] = Object.entries({
  "40 s fast": () => 40 * secondMs,
  "3 servers": (random) => 25 * integer(random, 0, 2),
  "set back": (_, at) => -secondMs * Math.floor(at / (97 * secondMs)),
  "set forward": (_, at) => secondMs * Math.floor(at / (97 * secondMs)),
  drifts: (_, at) => at / 5_000,
  "1 % lie": (random) => (random() < 0.01 ? integer(random, -5_000, 5_000) : 0),
  "all lie": (random) => integer(random, -300, 300),
} satisfies Record<string, ServerClock>).map(([split, serverClock]) => ({
  trip: "300±30 ms",
  split,
  drawDelays: (random) => splits.jitter(270, 60 * random(), random),
  serverClock,
}));

export async function run({ short }: BenchOptions): Promise<BenchResult> {
  const requests = short ? 1_000 : 10_000;
  const figures: Record<string, Figures> = {};
  for (const { trip, split, ...world } of [...cells, ...clockCells]) {
    const cell = `${trip}, ${split}`;
    figures[cell] = await simulate(world, requests, cell);
  }
  return {
    name: "limiter",
    title: "the rate limiter: refused of 10,000 requests, and the share of the limit in use",
    rows: [
      ["round trip, delays or clocks", "refused", "used"],
      ...Object.entries(figures).map(([cell, { refused, used }]) => [
        cell,
        String(refused),
        `${(100 * used).toFixed(1)}%`,
      ]),
    ],
    json: figures,
  };
}
