import { afterAll, describe, expect, test } from "vitest";
import { openPool } from "./simulation/databases.ts";
import { drawHistory } from "./simulation/draw.ts";
import { play } from "./simulation/play.ts";
import { type Broken, promises } from "./simulation/verdicts.ts";
import { startWorker } from "./simulation/workers.ts";
import { testDatabase } from "./support/database.ts";

// What `npm run simulate` plays ten thousand of.
const seedCount = 96;
// Shrinking plays a hundred histories.
const shrinkingMaxMs = 300_000;
const seeds = Array.from({ length: seedCount }, (_, seed) => seed);

const database = await testDatabase();
const pool = openPool(database.url);
afterAll(async () => {
  await pool.end();
  await database[Symbol.asyncDispose]();
});

describe("months of syncs under faults of the exchange, the database and the process", () => {
  const checkedInAll = new Map<string, number>();

  test.each(seeds)("break no promise (seed %i)", async (seed) => {
    const { broken, checked } = await play(drawHistory(seed), pool);
    expect(broken).toEqual([]);
    for (const [promise, count] of Object.entries(checked)) {
      checkedInAll.set(promise, (checkedInAll.get(promise) ?? 0) + count);
    }
  });

  test("give every promise a chance to be broken", () => {
    const least = Math.min(...promises.map((promise) => checkedInAll.get(promise) ?? 0));
    // The rarest is time that expires.
    expect(least).toBeGreaterThan(seedCount / 10);
  });
});

test("a history ends whose frozen processes hold more connections than one process may have", async () => {
  expect(await play(drawHistory(431), pool)).toMatchObject({ broken: [], runs: 11 });
});

test("a seed plays again exactly: every request, statement, answer and row", async () => {
  // With a clock, the database, the process and the exchange at fault.
  for (const seed of [2, 5, 9]) {
    const [first, second] = [
      await play(drawHistory(seed), pool),
      await play(drawHistory(seed), pool),
    ];
    expect(second).toEqual(first);
  }
});

describe("a program that is broken on purpose", () => {
  /** Plays histories until one breaks a promise. */
  async function firstBroken(
    mutant: string,
  ): Promise<{ seed: number; broken: Broken[] } | undefined> {
    await using database = await testDatabase();
    using worker = startWorker(database.url, mutant);
    for (const seed of seeds.slice(0, 20)) {
      const { result } = await worker.work({ kind: "play", seed });
      if (result.broken.length > 0) return { seed, broken: [...result.broken] };
    }
    return undefined;
  }

  test.each([
    "windows asked for without the millisecond at their end",
    "a short page taken for the last",
    "restatements dropped",
  ])("is noticed within twenty histories: %s", async (mutant) => {
    expect(await firstBroken(mutant)).toBeDefined();
  });

  test(
    "gives a history that shrinks to its cause, and still breaks the promise",
    async () => {
      const mutant = "late bills ignored: coverage without the settle lag";
      const caught = await firstBroken(mutant);
      if (caught === undefined) throw new Error(`no history breaks a promise with ${mutant}`);
      await using database = await testDatabase();
      using worker = startWorker(database.url, mutant);
      const done = await worker.work({ kind: "shrink", seed: caught.seed });
      if (done.kind !== "shrunk") throw new Error(`seed ${caught.seed} breaks nothing any more`);
      expect(done.result.broken[0]?.promise).toBe(caught.broken[0]?.promise);
      expect(done.history.steps.length).toBeLessThanOrEqual(2);
      const faults = done.history.steps.flatMap((step) => [
        ...step.exchange,
        ...step.database,
        ...step.process,
      ]);
      expect(faults).toEqual([]);
    },
    shrinkingMaxMs,
  );
});
