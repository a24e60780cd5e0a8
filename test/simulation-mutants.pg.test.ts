import { describe, expect, test } from "vitest";
import type { PromiseName } from "./simulation/verdicts.ts";
import { startWorker } from "./simulation/workers.ts";
import { testDatabase } from "./support/database.ts";

// Some of the mutants that `npm run simulate -- --mutants` plays.
const seeds = Array.from({ length: 20 }, (_, seed) => seed);

describe("a program that is broken on purpose is noticed, and", () => {
  /** Plays histories until one breaks the promise. */
  async function firstBroken(mutant: string, promise: PromiseName): Promise<number | undefined> {
    await using database = await testDatabase();
    using worker = startWorker(database.url, mutant);
    for (const seed of seeds) {
      const { result } = await worker.work({ kind: "play", seed });
      // A machine that is too busy for a play breaks another promise, and once only.
      if (result.broken.some((broken) => broken.promise === promise)) return seed;
    }
    return undefined;
  }

  test("gives a history that shrinks to its cause, and still breaks the promise", async () => {
    const mutant = "late bills ignored: coverage without the settle lag";
    const seed = await firstBroken(mutant, "honest coverage");
    if (seed === undefined) throw new Error(`no history breaks a promise with ${mutant}`);
    await using database = await testDatabase();
    using worker = startWorker(database.url, mutant);
    const done = await worker.work({ kind: "shrink", seed });
    if (done.kind !== "shrunk") throw new Error(`seed ${seed} breaks nothing any more`);
    expect(done.result.broken[0]?.promise).toBe("honest coverage");
    expect(done.history.steps.length).toBeLessThanOrEqual(2);
    const faults = done.history.steps.flatMap((step) => [
      ...step.exchange,
      ...step.database,
      ...step.process,
    ]);
    expect(faults).toEqual([]);
  });
});
