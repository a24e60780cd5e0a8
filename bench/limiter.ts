import PQueue from "p-queue";
import type { Clock } from "../src/clock.ts";
import { secondMs } from "../src/contract/time.ts";
import type { Arrival } from "../src/exchange/one-way-delay.ts";
import { createRateLimiter } from "../src/exchange/rate-limiter.ts";
import { integer, type Random, seededRandom } from "../src/sandbox/random.ts";
import { virtualClock } from "../test/support/virtual-clock.ts";
import type { BenchOptions, BenchResult } from "./result.ts";

/*
 * What a rate limiter costs and what it risks. Simulated requests have varying one-way delays, and
 * the exchange counts each when it arrives. Prints how many of 10,000 are refused, and which share
 * of the limit brings answers. Time is simulated, so equal runs print equal numbers.
 */

const limit = { requests: 10, perMs: secondMs };
// As many as the walks of a sync. More than the limit has slots; each waits for its answer.
const senders = 16;
const startedAt = Date.UTC(2025, 0, 1);

/** What is known of a request when its answer has arrived. */
type Answer = Arrival & { readonly answeredAt: number };
type Send = (arrived: (arrival: Arrival) => void) => Promise<Answer>;
type Limiter = (send: Send) => Promise<Answer>;
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

/** One slot for each request of the limit. A slot is free again some time after its answer. */
function slots(clock: Clock, waitAfterMs: (answer: Answer) => number): Limiter {
  const queue = new PQueue({ concurrency: limit.requests });
  return (send) => {
    const answered = Promise.withResolvers<Answer>();
    void queue.add(async () => {
      const answer = await send(() => undefined);
      answered.resolve(answer);
      await clock.sleep(waitAfterMs(answer));
    });
    return answered.promise;
  };
}

const answersTrusted = 20;
const marginMs = 2;

/** A slot is free one period after its answer, less the fastest round trip so far. */
function earlierByRoundTrip(clock: Clock): Limiter {
  let fastestMs = Number.POSITIVE_INFINITY;
  let answers = 0;
  return slots(clock, ({ sentAt, answeredAt }) => {
    answers += 1;
    fastestMs = Math.min(fastestMs, answeredAt - sentAt);
    return limit.perMs + marginMs - (answers < answersTrusted ? 0 : fastestMs);
  });
}

/**
 * By the exchange's time of arrivals, assuming that no one-way delay is shorter than the shortest
 * so far.
 */
function byShortestDelay(clock: Clock): Limiter {
  let leastMs = Number.POSITIVE_INFINITY;
  let answers = 0;
  return slots(clock, ({ sentAt, requestTime, answeredAt }) => {
    answers += 1;
    leastMs = Math.min(leastMs, requestTime - sentAt);
    const next = requestTime + limit.perMs - leastMs + marginMs;
    return answers < answersTrusted ? limit.perMs + marginMs : Math.max(0, next - answeredAt);
  });
}

function window(strict: boolean): Limiter {
  const queue = new PQueue({ intervalCap: limit.requests, interval: limit.perMs, strict });
  return (send) => queue.add(() => send(() => undefined));
}

const limiters: Readonly<Record<string, (clock: Clock) => Limiter>> = {
  "this program": (clock) => createRateLimiter(limit, clock).run,
  "a second after the answer": (clock) => slots(clock, () => limit.perMs + marginMs),
  "that, less the fastest round trip": earlierByRoundTrip,
  "requestTime, shortest delay, no margin": byShortestDelay,
  "p-queue, fixed window": () => window(false),
  "p-queue, strict window": () => window(true),
};

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

/** p-queue's windows read the machine's clock, so that clock is the simulated one meanwhile. */
function replaceGlobalTimers({ now, sleep }: Clock): Disposable {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const realNow = Date.now;
  const repeat = (act: () => void, ms: number, again: boolean) => {
    const timer = new AbortController();
    const fire = () => {
      act();
      if (again) wait();
    };
    const wait = () => void sleep(ms, timer.signal).then(fire, () => {});
    wait();
    return timer;
  };
  const stop = (timer?: AbortController) => timer?.abort();
  Object.assign(globalThis, {
    setTimeout: (act: () => void, ms: number) => repeat(act, ms, false),
    setInterval: (act: () => void, ms: number) => repeat(act, ms, true),
    clearTimeout: stop,
    clearInterval: stop,
  });
  Date.now = now;
  return {
    [Symbol.dispose]() {
      Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
      Date.now = realNow;
    },
  };
}

/** How many of 10,000 requests were refused, and which share of the limit brought answers. */
type Figures = { readonly refused: number; readonly used: number };

async function simulate(
  limiterOn: (clock: Clock) => Limiter,
  { drawDelays, serverClock }: Pick<Cell, "drawDelays" | "serverClock">,
  requests: number,
  seed: string,
): Promise<Figures> {
  const random = seededRandom(seed);
  const time = virtualClock(startedAt + integer(random, 0, secondMs));
  const clock = nodeTimers(time.clock, random);
  using _ = replaceGlobalTimers(clock);
  const began = time.now();
  const { arrive, refused } = exchange();
  const run = limiterOn(clock);
  const send: Send = async (arrived) => {
    const { there, back } = drawDelays(random);
    const sentAt = clock.now();
    await time.clock.sleep(there);
    arrive(time.now());
    const requestTime = Math.floor(time.now() + serverClock(random, time.now() - startedAt));
    await time.clock.sleep(back);
    arrived({ sentAt, requestTime });
    return { sentAt, requestTime, answeredAt: clock.now() };
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

const believers = ["this program", "requestTime, shortest delay, no margin"];

export async function run({ short }: BenchOptions): Promise<BenchResult> {
  const requests = short ? 1_000 : 10_000;
  const figures: Record<string, Record<string, Figures>> = {};
  for (const [name, limiterOn] of Object.entries(limiters)) {
    const ofLimiter: Record<string, Figures> = {};
    for (const { trip, split, ...world } of believers.includes(name)
      ? [...cells, ...clockCells]
      : cells) {
      const cell = `${trip}, ${split}`;
      ofLimiter[cell] = await simulate(limiterOn, world, requests, cell);
    }
    figures[name] = ofLimiter;
  }
  const names = Object.keys(figures);
  return {
    name: "limiter",
    title:
      "rate limiters: refused of 10,000 requests, and the share of the limit that brought answers",
    rows: [
      ["round trip, delays or clocks", ...names],
      ...[...cells, ...clockCells].map(({ trip, split }) => [
        `${trip}, ${split}`,
        ...names.map((name) => textOf(figures[name]?.[`${trip}, ${split}`])),
      ]),
    ],
    json: figures,
  };
}

const textOf = (figures: Figures | undefined): string =>
  figures === undefined
    ? ""
    : `${figures.refused} ${`${(100 * figures.used).toFixed(1)}%`.padStart(6)}`;
