import { describe, expect, test } from "vitest";
import { epochMs } from "../src/contract/time.ts";
import { createDensity } from "../src/sync/density.ts";
import { type PoolMember, WalkPool } from "../src/sync/walk-pool.ts";

/** A pool of walks that run until they are told to end. */
function poolOf(count: number) {
  const pool = new WalkPool();
  const members: PoolMember[] = [];
  const ended = Promise.withResolvers<void>();
  for (let walk = 0; walk < count; walk++) {
    pool.add((member) => {
      members.push(member);
      return ended.promise;
    });
  }
  const after = (walk: number, pagesLeft: number, tookMs = 330) =>
    members[walk]?.afterPage({ pagesLeft, tookMs });
  const end = async () => {
    ended.resolve();
    await pool.done();
  };
  return { pool, members, after, end };
}

describe("a pool of walks", () => {
  test.each([
    ["a third of a second: four walks use all ten slots", 330, 4],
    ["85 ms: one walk does", 85, 1],
    ["850 ms: nine do", 850, 9],
  ])("divides the only walk where a page takes %s", async (_, tookMs, parts) => {
    const { after, end } = poolOf(1);
    expect(after(0, 500, tookMs)).toBe(parts);
    await end();
  });

  test("divides the longest alone, and none where enough walks are left", async () => {
    const { after, end } = poolOf(3);
    expect(after(0, 100)).toBe(2);
    expect(after(1, 90)).toBe(1);
    expect(after(2, 110)).toBe(2);
    await end();
    const four = poolOf(4);
    expect(four.after(0, 100)).toBe(1);
    await four.end();
  });

  test("takes a walk that is about to end for gone, and does not divide what has few pages", async () => {
    const { after, end } = poolOf(4);
    expect([1, 2, 3].map((walk) => after(walk, 0))).toEqual([1, 1, 1]);
    expect(after(0, 100)).toBe(3);
    expect(after(0, 5)).toBe(1);
    expect(after(0, 7)).toBe(2);
    await end();
  });

  test("divides no more than twenty times, and once more each twenty pages, however much seems left", async () => {
    const { after, end } = poolOf(1);
    const added = Array.from({ length: 400 }, () => (after(0, 1e9, 15_000) ?? 0) - 1);
    const soFar = added.map((_, index) => added.slice(0, index + 1).reduce((a, b) => a + b, 0));
    expect(soFar.every((parts, index) => parts <= 20 + (index + 1) / 20)).toBe(true);
    expect(soFar.at(-1)).toBe(40);
    await end();
  });

  test("divides nothing while walks wait to begin", async () => {
    const { after, end } = poolOf(129);
    expect(after(0, 10_000, 30_000)).toBe(1);
    await end();
  });

  test("lets a walk go first that has just begun, then the one with most left", async () => {
    const { members, after, end } = poolOf(3);
    after(1, 3);
    after(2, 8);
    const urgencies = members.map((member) => member.urgency());
    expect(urgencies).toEqual([Number.POSITIVE_INFINITY, 3, 8]);
    await end();
  });
});

describe("the density of a walk's pages", () => {
  const at = (minute: number) => epochMs(minute * 60_000);

  test("is that of the last five pages", () => {
    const density = createDensity(at(1_000));
    expect(density.pagesIn(60_000)).toBe(0);
    density.page(at(900), 100);
    expect(density.pagesIn(100 * 60_000)).toBe(1);
    for (let page = 1; page <= 5; page++) density.page(at(900 - page), 50);
    expect(density.pagesIn(100 * 60_000)).toBe(50);
  });

  test("of a page in one millisecond is high, not infinite", () => {
    const density = createDensity(at(10));
    density.page(at(10), 100);
    expect(density.pagesIn(60_000)).toBe(60_000);
  });
});
