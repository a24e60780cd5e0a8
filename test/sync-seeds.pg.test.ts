import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { productTypes } from "../src/contract/product-types.ts";
import { epochMs, hourMs, minuteMs } from "../src/contract/time.ts";

import { randomFaults, withFaults } from "../src/sandbox/faults.ts";
import { withOddDecimals } from "../src/sandbox/ledger-faults.ts";
import { integer, seededRandom, shuffled } from "../src/sandbox/random.ts";
import type { Quirks } from "../src/sandbox/source.ts";
import type { PastHorizon } from "../src/server/routes.ts";
import { horizonAt, windowMaxMs } from "../src/sync/plan.ts";
import { isComplete } from "../src/sync/run.ts";
import { fileDatabase } from "./support/database.ts";
import {
  rowVersions,
  type SimulationOptions,
  simulate,
  simulationStart,
} from "./support/simulation.ts";

const bounds: readonly NonNullable<Quirks["bounds"]>[] = ["both", "start", "end", "neither"];
const lastPages: readonly NonNullable<Quirks["lastPage"]>[] = [
  "empty-string",
  "null-id",
  "no-id",
  "null-bills",
  "same-id",
];
const shortPages = [
  { shortLastPage: false, shortPages: false },
  { shortLastPage: true, shortPages: false },
  { shortLastPage: false, shortPages: true },
];
const pageOrders: readonly NonNullable<Quirks["pageOrder"]>[] = [
  "newest-first",
  "oldest-first",
  "shuffled",
];
const pastHorizons: readonly PastHorizon[] = ["trim", "refuse", "serve"];

const seedCount = 240;
const settleLagMs = 10 * minuteMs;

/** Everything that the documentation leaves open, in every combination: 540. */
const exchanges = bounds.flatMap((bounds) =>
  lastPages.flatMap((lastPage) =>
    shortPages.flatMap((short) =>
      pageOrders.flatMap((pageOrder) =>
        pastHorizons.map((pastHorizon) => ({
          quirks: { bounds, lastPage, pageOrder, ...short },
          pastHorizon,
        })),
      ),
    ),
  ),
);

/**
 * A ledger, a way to the exchange and its faults, all drawn from the seed. Every second way is
 * even, so that the edges of the windows are known and have bills on and around them.
 */
function history(seed: number): SimulationOptions {
  const random = seededRandom(`history ${seed}`);
  const wanted = shuffled(random, productTypes).slice(0, integer(random, 1, 3));
  const isEven = seed % 2 === 0;
  const wayMs = integer(random, 5, 400);
  return {
    // 101 and 540 share no factor: the seeds take all combinations in turn.
    ...exchanges[(seed * 101) % exchanges.length],
    seed,
    name: `seed-${seed}`,
    settleLagMs,
    productTypes: wanted,
    density: random() ** 2,
    latencyMs: () => (isEven ? wayMs : wayMs * (0.8 + 0.4 * random())),
    ...(isEven && { edges: windowEdges(simulationStart + 2 * wayMs) }),
    alterLedger: (ledger) => withOddDecimals(ledger, { seed, count: seed % 5 }),
    wrapAnswer: (answer) =>
      withFaults(answer, {
        decide: randomFaults({ random, rate: isEven ? 0 : 0.05, inARowMax: 2 }),
        sleep: async () => undefined,
      }),
  };
}

/** The edges of the windows of a first run that plans at this time. */
function windowEdges(plannedAt: number): readonly number[] {
  const horizon = horizonAt(epochMs(plannedAt));
  const windows = Math.floor((plannedAt - horizon) / windowMaxMs);
  const edges = Array.from({ length: windows }, (_, index) => horizon + (index + 1) * windowMaxMs);
  return [...edges, plannedAt - settleLagMs];
}

const { database, tables } = await fileDatabase();

/** How many bills each product type is said to have. */
async function countsKept(account: string) {
  const { rows } = await tables.db.execute(sql`
    select product_type, bills
    from bill_counts
    where account = ${account}
    order by product_type`);
  return rows;
}

/** How many it has. */
async function countsOfRows(account: string) {
  const { rows } = await tables.db.execute(sql`
    select product_type, count(*) as bills
    from bills
    where account = ${account}
    group by product_type
    order by product_type`);
  return rows;
}

describe("for every way that the exchange may treat bounds, pages and its horizon", () => {
  test.each(Array.from({ length: seedCount }, (_, seed) => seed))(
    "the tables hold exactly the ledger, once more after the next run, within the limit (seed %i)",
    async (seed) => {
      const options = history(seed);
      await using simulation = simulate(database.url, options);
      const isExact = async () => {
        const comparisons = await simulation.compare();
        expect(comparisons.reduce((sum, { expected }) => sum + expected, 0)).toBeGreaterThan(100);
        for (const comparison of comparisons) {
          expect(comparison).toMatchObject({ missing: [], extra: [], different: [] });
        }
        expect(await countsKept(options.name)).toEqual(await countsOfRows(options.name));
      };
      expect(await simulation.sync()).toSatisfy(isComplete);
      await isExact();
      const before = await rowVersions(tables, options.name);

      await simulation.pass(integer(seededRandom(seed), 1, 40) * hourMs);
      expect(await simulation.sync()).toSatisfy(isComplete);
      await isExact();
      const after = await rowVersions(tables, options.name);
      expect([...before].filter(([id, version]) => after.get(id) !== version)).toEqual([]);

      const { peaks, refusals } = simulation.sandbox.statistics();
      expect(Math.max(...peaks.map(({ requests }) => requests))).toBeLessThanOrEqual(10);
      expect(refusals["429"] ?? 0).toBe(0);
    },
  );
});
