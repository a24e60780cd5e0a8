import { afterAll, describe, expect, test } from "vitest";
import { dayMs, minuteMs } from "../src/contract/time.ts";
import { openPool } from "./simulation/databases.ts";
import type { History, Step } from "./simulation/history.ts";
import { play } from "./simulation/play.ts";
import { testDatabase } from "./support/database.ts";

const database = await testDatabase();
const pool = openPool(database.url);
afterAll(async () => {
  await pool.end();
  await database[Symbol.asyncDispose]();
});

const step: Step = {
  passMs: 0,
  aheadMs: 0,
  recent: [],
  exchange: [],
  database: [],
  process: [],
};

/** An account that is upgraded between its first sync and the next one, which is killed. */
const killedAt = (at: number): History => ({
  seed: 1,
  exchange: { quirks: {}, pastHorizon: "trim", wayMs: 40, jitterMs: 0 },
  ledger: {
    seed: 1,
    productTypes: ["USDC-FUTURES"],
    futureDays: 8,
    density: 0.1,
    bursts: [],
    oddDecimals: 0,
    brokenRows: 0,
    idJitterMs: 0,
    edgeBills: true,
  },
  account: {
    modes: [
      { atMs: 0, mode: "classic" },
      { atMs: dayMs, mode: "upgrading" },
      { atMs: dayMs + minuteMs, mode: "unified" },
    ],
    productTypes: ["UTA-USDC-FUTURES"],
    density: 0.1,
    isFuturesFeeInside: false,
    areIdsReused: false,
    positionsSinceMs: 0,
    numericCursor: false,
  },
  steps: [step, { ...step, passMs: 2 * dayMs, process: [{ kind: "kill", at }] }],
});

// Each request and each statement counts as two: the lease, the two questions for the mode, what is closed,
// the plan and the first pages.
const effects = [2, 5, 8, 11, 14, 17, 20, 23, 26, 30, 40];

describe("the first sync after an upgrade", () => {
  test.each(effects)("may be killed at any effect, and nothing is lost (effect %i)", async (at) => {
    const { broken, faults, checked } = await play(killedAt(at), pool);
    expect(broken).toEqual([]);
    expect(faults["process: kill"]).toBe(1);
    expect(checked.mode).toBeGreaterThan(5);
  });
});
