// Holds: Tiling, Within the limit, Exact, Twice is once, One account one ledger, Nothing shown is dropped, Recovered is not complete
// The stored count of bills is the number of rows, and is corrected if it is not; rows that disappeared are a
// break until it is accepted.

import { afterAll, describe, expect, test } from "vitest";
import { openPool } from "./simulation/databases.ts";
import { drawHistory } from "./simulation/draw.ts";
import { type HistoryResult, play } from "./simulation/play.ts";
import { promises } from "./simulation/verdicts.ts";
import { testDatabase } from "./support/database.ts";

// Of the ten thousand histories that `npm run simulate` plays: the first fourteen notice some 44 of the 56 mutants.
const seeds = [0, 1, 2, 3, 4, 5, 6, 9, 11, 12, 13];

const database = await testDatabase();
const pool = openPool(database.url);
afterAll(async () => {
  await pool.end();
  await database[Symbol.asyncDispose]();
});

describe("months of syncs under faults of the exchange, the database and the process", () => {
  const checkedInAll = new Map<string, number>();
  const results: HistoryResult[] = [];

  test.each(seeds)("break no promise (seed %i)", async (seed) => {
    const result = await play(drawHistory(seed), pool);
    results[seed] = result;
    const { broken, checked } = result;
    expect(broken).toEqual([]);
    for (const [promise, count] of Object.entries(checked))
      checkedInAll.set(promise, (checkedInAll.get(promise) ?? 0) + count);
  });

  test("give every promise a chance to be broken", () => {
    const least = Math.min(...promises.map((promise) => checkedInAll.get(promise) ?? 0));
    // Expired time is the rarest.
    expect(least).toBeGreaterThan(seeds.length / 10);
  });

  // With faults of the clock, the database, the process and the exchange.
  test.each([4])(
    "play again exactly: every request, statement, answer and row (seed %i)",
    async (seed) => expect(await play(drawHistory(seed), pool)).toEqual(results[seed]),
  );
});
