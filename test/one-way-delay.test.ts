// Holds: Within the limit

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOneWayDelay } from "../src/exchange/one-way-delay.ts";
import { createRateLimiter, type RateLimit } from "../src/exchange/rate-limiter.ts";
import { type Random, seededRandom } from "../src/sandbox/random.ts";
import { virtualClock } from "./support/virtual-clock.ts";

const bills: RateLimit = { requests: 10, perMs: 1_000 };
const start = Date.UTC(2025, 0, 1);

/** How one request travels, and when the exchange says that it arrived. */
type Trip = {
  readonly there: number;
  readonly back: number;
  /** How far the exchange's clock is off; undefined if the answer has no time. */
  readonly offByMs: number | undefined;
};

/** Sends one request a trip, as fast as the limiter allows, from more senders than there are slots. */
async function travel(trips: readonly Trip[], limit = bills, senders = 16) {
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
  await time.run(Promise.all(Array.from({ length: senders }, sender)), { settleTurns: 1 });
  return { sent, arrived, tookMs: time.now() - start };
}

/** The shortest time in which one request more than the limit arrived. */
const tightestMs = (times: readonly number[], { requests } = bills): number => {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.min(
    ...sorted.slice(requests).map((at, index) => at - (sorted[index] ?? Number.NaN)),
    Number.POSITIVE_INFINITY,
  );
};

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
    [300, 30, 0.98],
    [800, 80, 0.95],
  ])(
    "uses the limit over round trips of %i ± %i ms, to %f of it and never beyond",
    async (meanMs, byMs, share) => {
      const trips = evenTrips(2_000, meanMs, byMs);
      const { arrived, tookMs } = await travel(trips);
      expect(tightestMs(arrived)).toBeGreaterThanOrEqual(bills.perMs);
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
    const trip = fc.record({ there: way, back: way, offByMs });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          requests: fc.integer({ min: 1, max: 12 }),
          perMs: fc.integer({ min: 50, max: 2_000 }),
        }),
        fc.array(trip, { minLength: 1, maxLength: 80 }),
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
      expect(tightestMs(arrived)).toBeGreaterThanOrEqual(bills.perMs);
      const untold = await travel(trips.map((trip) => ({ ...trip, offByMs: undefined })));
      expect(tookMs).toBeLessThanOrEqual(untold.tookMs + 50);
    },
  );

  test("never holds a slot for longer than a period after the answer, however far ahead a time is", async () => {
    const trip = { there: 100, back: 100, offByMs: 0 };
    const trips = Array.from({ length: 60 }, (_, index) =>
      index % 10 === 9 ? { ...trip, offByMs: 1_800_000 } : trip,
    );
    const { sent } = await travel(trips, { requests: 1, perMs: 1_000 }, 1);
    const waits = sent.slice(1).map((at, index) => at - (sent[index] ?? Number.NaN));
    expect(Math.max(...waits)).toBeLessThanOrEqual(200 + 1_000 + 5);
  });

  test("lets the first burst be late, by 25 ms, on all but one connection or on all: the next does not catch up with it", async () => {
    const trip = (there: number) => ({ there, back: 50, offByMs: 0 });
    const trips = (count: number, there: number) =>
      Array.from({ length: count }, () => trip(there));
    for (const first of [trips(10, 75), [trip(50), ...trips(9, 900)], trips(10, 250)]) {
      const { arrived } = await travel([...first, ...trips(100, 50)]);
      expect(tightestMs(arrived)).toBeGreaterThanOrEqual(bills.perMs);
    }
  });
});

describe("the least one-way delay", () => {
  const told = (...delays: readonly number[]) => {
    const oneWayDelay = createOneWayDelay();
    for (const delay of delays) oneWayDelay.observe({ sentAt: 1_000, requestTime: 1_000 + delay });
    return oneWayDelay.leastMs();
  };
  const many = (count: number, delay: number) => Array.from({ length: count }, () => delay);

  test("is not told by fewer than twenty answers", () => {
    expect(told(...many(19, 40))).toBeUndefined();
    expect(told(...many(20, 40))).toBeDefined();
  });

  test("is shorter than the shortest by fourteen shares of what the others, and 20 ms more, have on top", () => {
    expect(told(40, ...many(19, 60))).toBeCloseTo(40 - (14 / 20) * (19 + 20), 9);
  });

  test("begins anew after a delay below it", () => {
    expect(told(...many(50, 40), 35)).toBeDefined();
    expect(told(...many(50, 40), 34)).toBeUndefined();
    expect(told(...many(50, 40), 34, ...many(19, 36))).toBeCloseTo(34 - (14 / 20) * 21.9, 9);
  });

  test("is forgotten after 400 more answers", () => {
    const after = (count: number) => told(...many(10, 40), ...many(count, 45));
    expect(after(399)).toBeLessThan(40);
    expect(after(400)).toBeCloseTo(45 - (14 / 400) * 20, 9);
  });
});
