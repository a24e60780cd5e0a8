// Holds: Bounded

import { expect, test } from "vitest";
import { type PartsWanted, WalkQueue } from "../src/core/sync/walk-queue.ts";

/** So many walks that run until they are told to end, under a limit of ten requests a second. */
function running(count: number, answerMs = 300) {
  const walks = new WalkQueue(10);
  const partsOf: PartsWanted[] = [];
  const ended = Promise.withResolvers<void>();
  for (let walk = 0; walk < count; walk++) {
    walks.add((one) => {
      partsOf.push(one);
      return ended.promise;
    });
  }
  return {
    after: (walk: number, pagesLeft: number) => partsOf[walk]?.(pagesLeft, answerMs),
    async [Symbol.asyncDispose]() {
      ended.resolve();
      await walks.ended();
    },
  };
}

test.each([
  ["50 ms: one walk uses the limit", 50, 300, 1],
  ["300 ms", 300, 300, 3],
  ["1.5 s: no more than the limit has requests", 1_500, 300, 10],
  ["300 ms, and few pages are left", 300, 17, 2],
  ["300 ms, and fewer", 300, 11, 1],
])("a walk alone is divided by what an answer takes: %s", async (_, answerMs, pagesLeft, parts) => {
  await using alone = running(1, answerMs);
  expect(alone.after(0, pagesLeft)).toBe(parts);
});

test("only the longest walk is divided, once all have read a page, and if it alone takes longer than the limit for all that is left", async () => {
  await using three = running(3);
  expect([three.after(0, 100), three.after(1, 90)]).toEqual([1, 1]);
  expect(three.after(2, 120)).toBe(2);
  expect([three.after(0, 99), three.after(1, 89)]).toEqual([1, 1]);
  expect([three.after(2, 1), three.after(1, 20), three.after(0, 80)]).toEqual([1, 1, 3]);
  await using four = running(4);
  expect([0, 1, 2, 3].map((walk) => four.after(walk, 100))).toEqual([1, 1, 1, 1]);
  await using waiting = running(129);
  expect(waiting.after(0, 10_000)).toBe(1);
});

test("walks are divided no more often than their pages allow, however much seems to be left", async () => {
  await using alone = running(1);
  const added = Array.from({ length: 400 }, () => (alone.after(0, 1e9) ?? 0) - 1);
  const soFar = added.map((_, page) => added.slice(0, page + 1).reduce((a, b) => a + b, 0));
  expect(soFar.every((parts, page) => parts <= 10 + (page + 1) / 10)).toBe(true);
  expect(soFar.at(-1)).toBe(50);
});

test("parts that are begun while a walk ends are waited for", async () => {
  const walks = new WalkQueue(10);
  const ended: string[] = [];
  const walkOf = (name: string, parts: readonly string[]) =>
    walks.add(async () => {
      await Promise.resolve();
      for (const part of parts) walkOf(part, []);
      ended.push(name);
    });
  walkOf("whole", ["newer", "older"]);
  await walks.ended();
  expect(ended.toSorted()).toEqual(["newer", "older", "whole"]);
});
