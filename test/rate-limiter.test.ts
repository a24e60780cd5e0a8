// Holds: Within the limit

import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOneWayDelay } from "../src/core/exchange/one-way-delay.ts";
import { createRateLimiter, type RateLimit } from "../src/core/exchange/rate-limiter.ts";
import type { Clock } from "../src/lib/clock.ts";
import { type Random, seededRandom } from "../src/wings/sandbox/random.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const bills: RateLimit = { requests: 10, perMs: 1_000 };

/** What happens to one request, and how long each of its ways takes. */
type Fate = {
  readonly askedAt: number;
  readonly there: number;
  readonly back: number;
  readonly end: "answered" | "broken after it arrived" | "lost before it arrived";
};

const fate: fc.Arbitrary<Fate> = fc.record({
  askedAt: fc.oneof(fc.constant(0), fc.nat(3_000)),
  there: fc.oneof(fc.constant(0), fc.nat(120), fc.nat(3_000)),
  back: fc.oneof(fc.constant(0), fc.nat(120), fc.nat(3_000)),
  end: fc.constantFrom("answered", "broken after it arrived", "lost before it arrived"),
});

/** A timer of Node may fire a millisecond early, or late by what the event loop did before it was set. */
const earlyTimers = ({ now, sleep }: Clock, earlyMs: number): Clock => ({
  now,
  sleep: (ms, signal) => sleep(ms - Math.min(earlyMs, ms / 2), signal),
});

/** A test's world: when requests were sent, when they arrived, and how they ended. */
function world(limit: RateLimit, earlyMs = 0) {
  const time = virtualClock(0);
  const limiter = createRateLimiter(limit, earlyTimers(time.clock, earlyMs));
  const sent: number[] = [];
  const arrived: number[] = [];

  const request = async ({ there, back, end }: Fate) => {
    sent.push(time.now());
    await time.clock.sleep(there);
    if (end === "lost before it arrived") throw new Error(end);
    arrived.push(time.now());
    await time.clock.sleep(back);
    if (end !== "answered") throw new Error(end);
    return end;
  };
  const ask = async (fate: Fate, signal?: AbortSignal) => {
    await time.clock.sleep(fate.askedAt);
    return limiter.run(() => request(fate), signal);
  };
  const askAll = (fates: readonly Fate[]) =>
    time.run(Promise.allSettled(fates.map((fate) => ask(fate))));
  return { time, limiter, sent, arrived, ask, askAll };
}

const plain = { askedAt: 0, there: 0, back: 0, end: "answered" } as const;

/** The shortest time in which one request more than the limit arrived. */
const tightestMs = (arrived: readonly number[], { requests }: RateLimit): number => {
  const times = arrived.toSorted((a, b) => a - b);
  return Math.min(
    ...times.slice(requests).map((at, index) => at - (times[index] ?? Number.NaN)),
    Number.POSITIVE_INFINITY,
  );
};

describe("a rate limiter", () => {
  test("never lets more requests arrive in a rolling period than allowed, however they travel and fail", async () => {
    const limits = fc.record({
      requests: fc.integer({ min: 1, max: 12 }),
      perMs: fc.integer({ min: 50, max: 2_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        limits,
        fc.array(fate, { minLength: 1, maxLength: 60 }),
        fc.double({ min: 0, max: 9, noNaN: true }),
        async (limit, fates, earlyMs) => {
          const { askAll, sent, arrived } = world(limit, earlyMs);
          const ends = await askAll(fates);
          expect(tightestMs(arrived, limit)).toBeGreaterThanOrEqual(limit.perMs);
          expect(sent).toHaveLength(fates.length);
          expect(
            ends.map((end) => (end.status === "fulfilled" ? end.value : end.reason.message)),
          ).toEqual(fates.map(({ end }) => end));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("uses the whole limit where answers come at once: 40 requests take three periods", async () => {
    const { askAll, sent } = world(bills);
    await askAll(Array.from({ length: 40 }, () => plain));
    const periods = [0, 1_002, 2_004, 3_006];
    expect(sent).toEqual(periods.flatMap((at) => Array.from({ length: 10 }, () => at)));
  });

  test("sends what has the highest priority first, of what waits, and else in the order of asking", async () => {
    const { time, limiter } = world({ requests: 1, perMs: 10 });
    const order: string[] = [];
    const asked = ["1a", "3a", "2a", "3b", "2b"].map((name) =>
      limiter.run(async () => order.push(name), undefined, Number(name[0])),
    );
    await time.run(Promise.all(asked));
    // The first request found the slot free.
    expect(order).toEqual(["1a", "3a", "3b", "2a", "2b"]);
  });
});

describe("a hold-off", () => {
  test("stops every request for as long as it lasts, the longest of several, and then ends", async () => {
    const holdOff = fc.record({ at: fc.nat(5_000), ms: fc.nat(4_000) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(holdOff, { maxLength: 6 }),
        fc.array(fate, { minLength: 1, maxLength: 30 }),
        fc.double({ min: 0, max: 9, noNaN: true }),
        async (holds, fates, earlyMs) => {
          const { time, limiter, askAll, sent } = world({ requests: 3, perMs: 400 }, earlyMs);
          const held = holds.map(({ at, ms }) =>
            time.clock.sleep(at).then(() => limiter.holdOff(ms)),
          );
          await askAll(fates);
          expect(sent).toHaveLength(fates.length);
          expect(sent.filter((t) => holds.some(({ at, ms }) => t > at && t < at + ms))).toEqual([]);
          await time.run(Promise.all(held));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("an abort", () => {
  const reason = new Error("stopped on request");

  test("ends the waiting with the signal's reason, and the request is never sent", async () => {
    const { time, ask, sent } = world({ requests: 1, perMs: 1_000 });
    const stop = new AbortController();
    const first = ask({ ...plain, back: 5_000 });
    const waiting = ask(plain, stop.signal);
    const third = ask(plain);
    await time.run(time.clock.sleep(2_000));
    stop.abort(reason);
    await expect(time.run(waiting)).rejects.toBe(reason);
    expect(time.now()).toBe(2_000);
    await time.run(Promise.all([first, third]));
    await expect(time.run(ask(plain, stop.signal))).rejects.toBe(reason);
    expect(sent).toEqual([0, 6_002]);
  });

  test("of a request on its way ends nothing and frees nothing: the slot waits for the answer", async () => {
    const { time, ask, sent } = world({ requests: 1, perMs: 1_000 });
    const stop = new AbortController();
    const first = ask({ ...plain, back: 5_000 }, stop.signal);
    const second = ask(plain);
    await time.run(time.clock.sleep(2_000));
    stop.abort(reason);
    await expect(time.run(first)).resolves.toBe("answered");
    await time.run(second);
    expect(sent).toEqual([0, 6_002]);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });
});

describe("a limit that is resized", () => {
  const limit: RateLimit = { requests: 10, perMs: 1_000 };
  const resizing = fc.record({
    at: fc.nat(6_000),
    requests: fc.integer({ min: 1, max: 10 }),
  });

  test("holds at every moment: what was given up is used by nobody, however requests travel and fail", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(resizing, { minLength: 1, maxLength: 5 }),
        fc.array(fate, { minLength: 20, maxLength: 80 }),
        async (resizings, fates) => {
          const { time, limiter, askAll, sent, arrived } = world(limit);
          const sizes: { from: number; to: number; readonly requests: number }[] = [];
          const resized = resizings
            .toSorted((a, b) => a.at - b.at)
            .map(({ at, requests }) =>
              time.clock.sleep(at).then(async () => {
                const last = sizes.at(-1);
                if (last !== undefined) last.to = time.now();
                const never = Number.POSITIVE_INFINITY;
                const size = { from: never, to: never, requests };
                sizes.push(size);
                await limiter.resize(requests);
                size.from = time.now();
              }),
            );
          await askAll(fates);
          await time.run(Promise.all(resized));
          expect(sent).toHaveLength(fates.length);
          expect(tightestMs(arrived, limit)).toBeGreaterThanOrEqual(limit.perMs);
          // A limiter that was resized again before it had given up its slots promised nothing.
          for (const { from, to, requests } of sizes.filter(({ from, to }) => from < to)) {
            // Requests shortly before count too, since another limiter may use the given slots at once.
            const within = arrived.filter((at) => at > from - limit.perMs && at < to);
            expect(tightestMs(within, { ...limit, requests })).toBeGreaterThanOrEqual(limit.perMs);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test("gives up slots that are not in use at once, and those in use a period after their answer", async () => {
    const { time, limiter, ask } = world(limit);
    await time.run(limiter.resize(8));
    expect(time.now()).toBe(0);
    void limiter.resize(10);
    const asked = Array.from({ length: 10 }, () => ask({ ...plain, there: 100, back: 200 }));
    await time.run(Promise.all(asked));
    await time.run(limiter.resize(8));
    expect(time.now()).toBe(1_302);
  });
});

const start = Date.UTC(2025, 0, 1);

/** How one request travels, and when the exchange says that it arrived. */
type Trip = {
  readonly there: number;
  readonly back: number;
  /** How far the exchange's clock is off; undefined if the answer has no time. */
  readonly offByMs: number | undefined;
};

/** Sends one request a trip, as fast as the limiter allows, from more senders than there are slots. */
async function travel(trips: readonly Trip[], limit = bills) {
  const time = virtualClock(start);
  const limiter = createRateLimiter(limit, time.clock);
  const sent: number[] = [];
  const arrived: number[] = [];
  const rest = [...trips];
  const sender = async () => {
    for (let trip = rest.shift(); trip !== undefined; trip = rest.shift()) {
      const { there, back, offByMs } = trip;
      await limiter.run(async (tell) => {
        const sentAt = time.clock.now();
        sent.push(time.now());
        await time.clock.sleep(there);
        arrived.push(time.now());
        const requestTime = Math.floor(time.now() + (offByMs ?? 0));
        await time.clock.sleep(back);
        if (offByMs !== undefined) tell({ sentAt, requestTime });
      });
    }
  };
  await time.run(Promise.all(Array.from({ length: 16 }, sender)), { settleTurns: 1 });
  return { sent, arrived, tookMs: time.now() - start };
}

const spread = (random: Random, meanMs: number, byMs: number): number =>
  meanMs - byMs + 2 * byMs * random();

/** Round trips with two equal one-way delays, by a clock that is minutes off. */
function evenTrips(count: number, meanMs: number, byMs: number): readonly Trip[] {
  const random = seededRandom(`${meanMs}±${byMs}`);
  return Array.from({ length: count }, () => {
    const way = spread(random, meanMs, byMs) / 2;
    return { there: way, back: way, offByMs: 123_456.5 };
  });
}

describe("with the exchange's times of arrival, a rate limiter", () => {
  test.each([
    [50, 5, 0.99],
    [300, 30, 0.979],
    [800, 80, 0.947],
  ])(
    "uses the limit over round trips of %i ± %i ms, to %f of it and never beyond",
    async (meanMs, byMs, share) => {
      const trips = evenTrips(2_000, meanMs, byMs);
      const { arrived, tookMs } = await travel(trips);
      expect(tightestMs(arrived, bills)).toBeGreaterThanOrEqual(bills.perMs);
      expect((trips.length / bills.requests) * bills.perMs).toBeGreaterThan(tookMs * share);
    },
  );

  test("never sends more in a rolling period than allowed, whatever the times say, and so is off by the difference of the delays at most", async () => {
    const way = fc.oneof(fc.constant(0), fc.nat(120), fc.nat(3_000));
    const offByMs = fc.oneof(
      fc.constant(undefined),
      fc.constant(0),
      fc.integer({ min: -400, max: 400 }),
      fc.integer({ min: -(10 ** 12), max: 10 ** 12 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          requests: fc.integer({ min: 1, max: 12 }),
          perMs: fc.integer({ min: 50, max: 2_000 }),
        }),
        fc.array(fc.record({ there: way, back: way, offByMs }), { minLength: 1, maxLength: 80 }),
        async (limit, trips) => {
          const { sent, arrived } = await travel(trips, limit);
          const ways = trips.map(({ there }) => there);
          const differenceMs = Math.max(...ways) - Math.min(...ways);
          expect(arrived).toHaveLength(trips.length);
          expect(tightestMs(sent, limit)).toBeGreaterThanOrEqual(limit.perMs);
          expect(tightestMs(arrived, limit)).toBeGreaterThanOrEqual(limit.perMs - differenceMs);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    ["servers whose clocks are up to 50 ms apart", (random) => 50 * Math.floor(3 * random())],
    ["a clock that is set back again and again", (_, at) => -700 * Math.floor(at / 31_000)],
    ["a clock that is set forward again and again", (_, at) => 700 * Math.floor(at / 31_000)],
    ["a clock that gains 12 s an hour", (_, at) => at / 300],
    ["a clock that loses 12 s an hour", (_, at) => -at / 300],
    ["one absurd time in fifty", (random) => (random() < 0.02 ? 10 ** 12 * (random() - 0.5) : 0)],
    ["times that are all wrong by up to 300 ms", (random) => 600 * random()],
  ] satisfies [string, (random: Random, at: number) => number][])(
    "keeps to the limit with %s, and is no slower than without any time",
    async (name, offBy) => {
      const random = seededRandom(name);
      // Round trips that begin a second apart. The error of the clock is drawn for each trip.
      const trips = Array.from({ length: 2_000 }, (_, index) => ({
        there: spread(random, 150, 15),
        back: spread(random, 150, 15),
        offByMs: offBy(random, index * 105),
      }));
      const { arrived, tookMs } = await travel(trips);
      expect(tightestMs(arrived, bills)).toBeGreaterThanOrEqual(bills.perMs);
      const untold = await travel(trips.map((trip) => ({ ...trip, offByMs: undefined })));
      expect(tookMs).toBeLessThanOrEqual(untold.tookMs + 50);
    },
  );
});

describe("the least one-way delay", () => {
  const told = (...delays: readonly number[]) => {
    const oneWayDelay = createOneWayDelay();
    for (const delay of delays) oneWayDelay.observe({ sentAt: 1_000, requestTime: 1_000 + delay });
    return oneWayDelay.leastMs();
  };
  const many = (count: number, delay: number) => Array.from({ length: count }, () => delay);

  test("is told by twenty answers, as shorter by twenty-eight shares of what the others, and 20 ms more, have on top", () => {
    expect(told(...many(19, 40))).toBeUndefined();
    expect(told(40, ...many(19, 60))).toBeCloseTo(40 - (28 / 20) * (19 + 20), 9);
  });

  test("is not above the next delay where the first twenty happen to lie in the upper two thirds of 180 to 345 ms", () => {
    const seen = [340, 278, 275, 308, 242, 239, 321, 273, 267, 283, 278, 276, 286, 254, 238];
    expect(told(...seen, 242, 272, 339, 290, 263)).toBeLessThan(190);
  });

  test("begins anew after a delay below it, and is forgotten after 400 more answers", () => {
    expect(told(...many(50, 40), 29)).toBeDefined();
    expect(told(...many(50, 40), 28, ...many(19, 36))).toBeCloseTo(28 - (28 / 20) * 27.6, 9);
    const after = (count: number) => told(...many(10, 40), ...many(count, 45));
    expect(after(399)).toBeLessThan(40);
    expect(after(400)).toBeCloseTo(45 - (28 / 400) * 20, 9);
  });
});
