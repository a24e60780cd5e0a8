// Holds: Honest coverage

import fc from "fast-check";
import { expect, test } from "vitest";
import { createExchangeClock } from "../src/core/exchange/exchange-clock.ts";
import { epochMs } from "../src/lib/time.ts";

const localNow = epochMs(Date.UTC(2025, 5, 1));
const sample = (roundTripMs: number, aheadMs: number) => ({
  sentAt: localNow,
  answeredAt: epochMs(localNow + roundTripMs),
  requestTime: epochMs(localNow + aheadMs),
});

test("the exchange's time is known to half of the shortest round trip, however the ways differ", () => {
  const way = fc.nat(5_000);
  const ways = fc.array(fc.record({ there: way, back: way }), { minLength: 1 });
  fc.assert(
    fc.property(ways, fc.integer({ min: -1e9, max: 1e9 }), (trips, aheadMs) => {
      const clock = createExchangeClock(() => localNow);
      for (const { there, back } of trips) clock.observe(sample(there + back, there + aheadMs));
      const shortestMs = Math.min(...trips.map(({ there, back }) => there + back));
      const errorMs = Math.abs(clock.now() - (localNow + aheadMs));
      expect(errorMs).toBeLessThanOrEqual(Math.ceil(shortestMs / 2));
    }),
  );
});

test("an answer as fast as the fastest is believed, and after a refusal the answer that carried it", () => {
  const clock = createExchangeClock(() => localNow);
  expect([clock.now(), clock.offsetMs()]).toEqual([localNow, undefined]);
  const offsets = [sample(100, 1_050), sample(101, 9_000), sample(100, 2_050)].map((observed) => {
    clock.observe(observed);
    return clock.offsetMs();
  });
  expect(offsets).toEqual([1_000, 1_000, 2_000]);
  clock.reset(sample(4_000, 602_000));
  clock.observe(sample(5_000, 0));
  expect(clock.offsetMs()).toBe(600_000);
});
