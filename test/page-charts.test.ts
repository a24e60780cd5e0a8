import fc from "fast-check";
import { expect, test } from "vitest";
import { dayMs, epochMs, isoTime } from "../src/contract/time.ts";
import { dayTicks } from "../src/page/charts/day-axis.ts";
import { barShapes, stepShapes } from "../src/page/charts/steps.ts";
import { valueAxis } from "../src/page/charts/value-axis.ts";

const dayFrom = (day: string, later: number) =>
  isoTime(epochMs(Date.parse(day) + later * dayMs)).slice(0, 10);

test("every value is inside of its picture, the higher the number, and each line says where it stands", () => {
  const values = fc.array(
    fc.maxSafeInteger().map((units) => units / 1e8),
    { minLength: 1 },
  );
  fc.assert(
    fc.property(values, (drawn) => {
      const { heightOf, ticks, hasZero } = valueAxis(drawn);
      for (const value of drawn) {
        expect(heightOf(value)).toBeGreaterThanOrEqual(-1e-9);
        expect(heightOf(value)).toBeLessThanOrEqual(1 + 1e-9);
      }
      for (const { height, text } of ticks) {
        const value = Number(text.replaceAll(",", "").replace("−", "-"));
        expect(Math.abs(heightOf(value) - height)).toBeLessThan(1e-3);
        expect(height).toBeGreaterThanOrEqual(-1e-9);
        expect(height).toBeLessThanOrEqual(1 + 1e-9);
      }
      expect(ticks.length).toBeLessThanOrEqual(6);
      if (Math.min(...drawn) < 0 && Math.max(...drawn) > 0) expect(hasZero).toBe(true);
    }),
  );
});

test("lines are exact where a number's last place is", () => {
  const texts = (values: readonly number[]) => valueAxis(values).ticks.map(({ text }) => text);
  expect(texts([259_318.69, 245_445.48])).toEqual(["245,000", "250,000", "255,000", "260,000"]);
  expect(texts([0.1, 0.3])).toEqual(["0.0", "0.1", "0.2", "0.3"]);
  expect(texts([-1_500, 3_500])).toEqual(["0", "2,000"]);
  expect(texts([])).toEqual(["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
});

test("a picture of any length has at most six days below it, and those of 90 days are halves of months", () => {
  fc.assert(
    fc.property(fc.integer({ min: 7, max: 5_000 }), fc.nat(20_000), (count, later) => {
      const days = Array.from({ length: count }, (_, index) =>
        dayFrom("2009-01-03", later + index),
      );
      const ticks = dayTicks(days);
      expect(ticks.length).toBeLessThanOrEqual(6);
      for (const { index, text } of ticks) expect(days[index]).toContain(text);
    }),
    { numRuns: 10 },
  );
  const days = Array.from({ length: 90 }, (_, index) => dayFrom("2026-08-25", index));
  expect(dayTicks(days).map(({ text }) => text)).toEqual([
    "09-01",
    "09-15",
    "10-01",
    "10-15",
    "11-01",
    "11-15",
  ]);
});

test("where nothing is known no line is drawn, and no bar", () => {
  const values = [1, 2, undefined, undefined, 5];
  const axis = valueAxis([1, 2, 5]);
  const { text } = stepShapes(values, axis);
  const line = / class="line"[^>]* d="([^"]*)"/.exec(text)?.[1] ?? "";
  expect(line.match(/M\d+/g)).toEqual(["M0", "M4"]);
  expect(line.match(/H\d+/g)).toEqual(["H1", "H2", "H5"]);
  expect(barShapes(values, axis).text.match(/class="bar-in"/g)).toHaveLength(3);
});
