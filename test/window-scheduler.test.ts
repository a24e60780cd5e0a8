import { describe, expect, test } from "vitest";
import { accountBills } from "../src/contract/account-bills.ts";
import { type ScheduledWalk, WindowScheduler } from "../src/sync/window-scheduler.ts";

/** A scheduler of walks that run until they are told to end. */
function schedulerOf(count: number, limit = accountBills.limit) {
  const scheduler = new WindowScheduler(limit);
  const walks: ScheduledWalk[] = [];
  const ended = Promise.withResolvers<void>();
  for (let walk = 0; walk < count; walk++) {
    scheduler.add((scheduled) => {
      walks.push(scheduled);
      return ended.promise;
    });
  }
  const after = (walk: number, pagesLeft: number, tookMs = 330) =>
    walks[walk]?.afterPage({ pagesLeft, tookMs });
  const end = async () => {
    ended.resolve();
    await scheduler.done();
  };
  return { scheduler, walks, after, end };
}

describe("a scheduler of walks", () => {
  test.each([
    ["a third of a second: four walks use all ten slots", 330, 4],
    ["85 ms: one walk does", 85, 1],
    ["850 ms: nine do", 850, 9],
  ])("divides the only walk where a page takes %s", async (_, tookMs, parts) => {
    const { after, end } = schedulerOf(1);
    expect(after(0, 500, tookMs)).toBe(parts);
    await end();
  });

  test("divides the longest alone, and none where enough walks are left", async () => {
    const { after, end } = schedulerOf(3);
    expect(after(0, 100)).toBe(2);
    expect(after(1, 90)).toBe(1);
    expect(after(2, 110)).toBe(2);
    await end();
    const four = schedulerOf(4);
    expect(four.after(0, 100)).toBe(1);
    await four.end();
  });

  test("takes a walk that is about to end for gone, and does not divide what has few pages", async () => {
    const { after, end } = schedulerOf(4);
    expect([1, 2, 3].map((walk) => after(walk, 0))).toEqual([1, 1, 1]);
    expect(after(0, 100)).toBe(3);
    expect(after(0, 5)).toBe(1);
    expect(after(0, 7)).toBe(2);
    await end();
  });

  test("divides no more than twenty times, and once more each twenty pages, however much seems left", async () => {
    const { after, end } = schedulerOf(1);
    const added = Array.from({ length: 400 }, () => (after(0, 1e9, 15_000) ?? 0) - 1);
    const soFar = added.map((_, index) => added.slice(0, index + 1).reduce((a, b) => a + b, 0));
    expect(soFar.every((parts, index) => parts <= 20 + (index + 1) / 20)).toBe(true);
    expect(soFar.at(-1)).toBe(40);
    await end();
  });

  test("divides nothing while walks wait to begin", async () => {
    const { after, end } = schedulerOf(129);
    expect(after(0, 10_000, 30_000)).toBe(1);
    await end();
  });

  test("lets a walk go first that has just begun, then the one with most left", async () => {
    const { walks, after, end } = schedulerOf(3);
    after(1, 3);
    after(2, 8);
    const priorities = walks.map((scheduled) => scheduled.priority());
    expect(priorities).toEqual([Number.POSITIVE_INFINITY, 3, 8]);
    await end();
  });
});
