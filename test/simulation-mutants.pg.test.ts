import { expect, test } from "vitest";
import { startWorker } from "./simulation/workers.ts";
import { testDatabase } from "./support/database.ts";

// One of the mutants that `npm run simulate -- --mutants` plays.
test("a program that is broken on purpose is noticed", async () => {
  await using database = await testDatabase();
  using worker = startWorker(database.url, "late bills ignored: coverage without the settle lag");
  const broken = new Set<string>();
  for (let seed = 0; seed < 20 && !broken.has("honest coverage"); seed++) {
    const { result } = await worker.work({ seed });
    // A machine that is too busy for a play breaks another promise, and once only.
    for (const { promise } of result.broken) broken.add(promise);
  }
  expect(broken).toContain("honest coverage");
});
