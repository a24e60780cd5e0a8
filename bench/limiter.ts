import PQueue from "p-queue";
import type { Clock } from "../src/clock.ts";
import { secondMs } from "../src/contract/time.ts";
import { createRateLimiter } from "../src/exchange/rate-limiter.ts";
import { integer, type Random, seededRandom } from "../src/sandbox/random.ts";
import { virtualClock } from "../test/support/virtual-clock.ts";
import type { BenchOptions, BenchResult } from "./result.ts";

/*
 * What a rate limiter costs and what it risks: simulated requests over ways of uneven length,
 * each counted by the exchange when it arrives. Prints how many of 10,000 are refused and
 * which share of the limit brings answers. No real time is involved: equal runs print equal
 * numbers.
 */

const limit = { requests: 10, perMs: secondMs };
// As many as walks of a sync: more than the limit has slots, each waiting for its answer.
const senders = 16;
const startedAt = Date.UTC(2025, 0, 1);

/** What is known of a request when its answer is here. `arrivedAt` is the exchange's time. */
type Answer = { readonly sentAt: number; readonly arrivedAt: number; readonly answeredAt: number };
type Limiter = (send: () => Promise<Answer>) => Promise<Answer>;
type Way = { readonly there: number; readonly back: number };

const roundTrips = [
  { meanMs: 50, spreadMs: 5 },
  { meanMs: 100, spreadMs: 30 },
  { meanMs: 300, spreadMs: 30 },
  { meanMs: 300, spreadMs: 150 },
  { meanMs: 800, spreadMs: 80 },
];

/** How a round trip falls into its two ways. */
const splits: Readonly<Record<string, (least: number, extra: number, random: Random) => Way>> = {
  even: (least, extra) => ({ there: (least + extra) / 2, back: (least + extra) / 2 }),
  // Each way has a least time of its own; what comes on top falls anywhere.
  jitter: (least, extra, random) => {
    const there = least / 2 + extra * random();
    return { there, back: least + extra - there };
  },
  // No way has a least time, as if every request took another route.
  routes: (least, extra, random) => {
    const there = (least + extra) * random();
    return { there, back: least + extra - there };
  },
};

/** One slot for each request of the limit, free again some time after the answer in it. */
function slots(clock: Clock, waitAfterMs: (answer: Answer) => number): Limiter {
  const queue = new PQueue({ concurrency: limit.requests });
  return (send) => {
    const answered = Promise.withResolvers<Answer>();
    void queue.add(async () => {
      const answer = await send();
      answered.resolve(answer);
      await clock.sleep(waitAfterMs(answer));
    });
    return answered.promise;
  };
}

const answersTrusted = 20;
const marginMs = 2;

/** Slots that are freed earlier by a share of the fastest round trip so far. */
function earlierByRoundTrip(clock: Clock, share: number): Limiter {
  let fastestMs = Number.POSITIVE_INFINITY;
  let answers = 0;
  return slots(clock, ({ sentAt, answeredAt }) => {
    answers += 1;
    fastestMs = Math.min(fastestMs, answeredAt - sentAt);
    return limit.perMs + marginMs - (answers < answersTrusted ? 0 : fastestMs * share);
  });
}

/**
 * Slots that are freed by the exchange's own clock: its time of an arrival is in the answer,
 * and the least of (arrival − sending) so far is the fastest way there, whatever the offset of
 * the two clocks. Not what the program does: it needs every server of the exchange to agree on
 * the time, which nobody promises.
 */
function byRequestTime(clock: Clock): Limiter {
  let leastMs = Number.POSITIVE_INFINITY;
  let answers = 0;
  return slots(clock, ({ sentAt, arrivedAt, answeredAt }) => {
    answers += 1;
    leastMs = Math.min(leastMs, arrivedAt - sentAt);
    const next = arrivedAt + limit.perMs - leastMs + marginMs;
    return answers < answersTrusted ? limit.perMs + marginMs : Math.max(0, next - answeredAt);
  });
}

function window(strict: boolean): Limiter {
  const queue = new PQueue({ intervalCap: limit.requests, interval: limit.perMs, strict });
  return (send) => queue.add(send);
}

const limiters: Readonly<Record<string, (clock: Clock) => Limiter>> = {
  "this program": (clock) => createRateLimiter(limit, clock).run,
  "0.25 of the fastest trip earlier": (clock) => earlierByRoundTrip(clock, 0.25),
  "0.5 of it": (clock) => earlierByRoundTrip(clock, 0.5),
  "0.9 of it": (clock) => earlierByRoundTrip(clock, 0.9),
  "all of it": (clock) => earlierByRoundTrip(clock, 1),
  "by the exchange's clock": byRequestTime,
  "p-queue, fixed window": () => window(false),
  "p-queue, strict window": () => window(true),
};

/** Counts like the mildest exchange: what it refuses does not count against the limit. */
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

/** Timers that are whole milliseconds long and fire up to one early or late, as Node's do. */
const nodeTimers = ({ now, sleep }: Clock, random: Random): Clock => ({
  now,
  sleep: (ms, signal) => sleep(Math.max(1, Math.trunc(ms)) - 1 + 2 * random(), signal),
});

/** p-queue's windows read the machine's clock: while it runs, that is the simulated one. */
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

/** How many of 10,000 were refused, and which share of the limit brought answers. */
type Figures = { readonly refused: number; readonly used: number };

async function simulate(
  limiterOn: (clock: Clock) => Limiter,
  drawWay: (random: Random) => Way,
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
  const send = async (): Promise<Answer> => {
    const { there, back } = drawWay(random);
    const sentAt = clock.now();
    await time.clock.sleep(there);
    arrive(time.now());
    const arrivedAt = clock.now();
    await time.clock.sleep(back);
    return { sentAt, arrivedAt, answeredAt: clock.now() };
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

const cells = roundTrips.flatMap(({ meanMs, spreadMs }) =>
  Object.entries(splits).map(([split, drawSplit]) => ({
    trip: `${meanMs}±${spreadMs} ms`,
    split,
    drawWay: (random: Random) => drawSplit(meanMs - spreadMs, 2 * spreadMs * random(), random),
  })),
);

export async function run({ short }: BenchOptions): Promise<BenchResult> {
  const requests = short ? 1_000 : 10_000;
  const figures: Record<string, Record<string, Figures>> = {};
  for (const [name, limiterOn] of Object.entries(limiters)) {
    const ofLimiter: Record<string, Figures> = {};
    for (const { trip, split, drawWay } of cells) {
      const cell = `${trip} ${split}`;
      ofLimiter[cell] = await simulate(limiterOn, drawWay, requests, cell);
    }
    figures[name] = ofLimiter;
  }
  const text = ({ refused, used }: Figures) =>
    `${refused} ${`${Math.round(100 * used)}%`.padStart(4)}`;
  return {
    name: "limiter",
    title:
      "rate limiters: refused of 10,000 requests, and the share of the limit that brought answers",
    rows: [
      ["round trip", ...cells.map(({ trip, split }) => (split === "even" ? trip : ""))],
      ["split", ...cells.map(({ split }) => split)],
      ...Object.entries(figures).map(([name, ofLimiter]) => [
        name,
        ...Object.values(ofLimiter).map(text),
      ]),
    ],
    json: figures,
  };
}
