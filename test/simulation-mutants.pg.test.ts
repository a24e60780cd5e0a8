import { describe, expect, test } from "vitest";
import type { Broken } from "./simulation/verdicts.ts";
import { startWorker } from "./simulation/workers.ts";
import { testDatabase } from "./support/database.ts";

// Some of the mutants that `npm run simulate -- --mutants` plays.
const seeds = Array.from({ length: 20 }, (_, seed) => seed);

describe("a program that is broken on purpose", () => {
  /** Plays histories until one breaks a promise. */
  async function firstBroken(
    mutant: string,
  ): Promise<{ seed: number; broken: Broken[] } | undefined> {
    await using database = await testDatabase();
    using worker = startWorker(database.url, mutant);
    for (const seed of seeds) {
      const { result } = await worker.work({ kind: "play", seed });
      if (result.broken.length > 0) return { seed, broken: [...result.broken] };
    }
    return undefined;
  }

  test("is noticed within twenty histories", async () => {
    expect(await firstBroken("restatements dropped")).toBeDefined();
  });

  test("gives a history that shrinks to its cause, and still breaks the promise", async () => {
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
  });
});
