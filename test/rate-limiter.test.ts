// Holds: Within the limit

import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../src/clock.ts";
import { createRateLimiter, type RateLimit } from "../src/exchange/rate-limiter.ts";
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

  test("counts nothing where the request was never made", async () => {
    const { time, limiter, sent, ask } = world({ requests: 1, perMs: 1_000 });
    const broken = limiter.run(() => {
      throw new Error("not sent");
    });
    const next = ask(plain);
    await expect(time.run(broken)).rejects.toThrow("not sent");
    await time.run(next);
    expect(sent).toEqual([0]);
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
          const early = sent.filter((t) => holds.some(({ at, ms }) => t > at && t < at + ms));
          expect(early).toEqual([]);
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
  });

  test("before the asking sends nothing", async () => {
    const { time, ask, sent } = world(bills);
    await expect(time.run(ask(plain, AbortSignal.abort(reason)))).rejects.toBe(reason);
    expect(sent).toEqual([]);
  });

  test("leaves no listener behind, whether requests were sent or not", async () => {
    const { time, ask } = world(bills);
    const stop = new AbortController();
    await time.run(Promise.all(Array.from({ length: 25 }, () => ask(plain, stop.signal))));
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
            const narrow = { ...limit, requests };
            expect(tightestMs(within, narrow)).toBeGreaterThanOrEqual(limit.perMs);
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

  test("uses all that it has once it is made wider", async () => {
    const { time, limiter, askAll, sent } = world(limit);
    await time.run(limiter.resize(2));
    const asked = askAll(Array.from({ length: 12 }, () => plain));
    void time.clock.sleep(500).then(() => limiter.resize(10));
    await asked;
    expect(sent).toEqual([0, 0, ...Array.from({ length: 8 }, () => 500), 1_002, 1_002]);
  });
});
