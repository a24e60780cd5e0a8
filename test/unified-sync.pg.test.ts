// A unified account is copied to the last digit, whatever the unknown parts of its API do; reports follow an
// account whose mode changes.

import { describe, expect, test } from "vitest";
import { reconcile } from "../src/audit/reconcile.ts";
import { unifiedProductTypes } from "../src/contract/product-types.ts";
import { dayMs, hourMs } from "../src/contract/time.ts";
import { openDatabase } from "../src/db/connect.ts";
import type { SandboxOptions } from "../src/sandbox/sandbox.ts";
import { quirky } from "./faults/quirks.ts";
import { testDatabase } from "./support/database.ts";
import { exactly } from "./support/sandbox-ledger.ts";
import { simulate, simulationStart } from "./support/simulation.ts";

const unified = [{ at: Number.NEGATIVE_INFINITY, mode: "unified" }];

/** What nobody knows of the real exchange, with each possibility at least once. */
const kinds: readonly (readonly [string, Partial<SandboxOptions>])[] = [
  [
    "sorted by time, where the rows of funding have later ids",
    { wrapSource: quirky({ sortedBy: "time", lastPage: "same-id", bounds: "neither" }) },
  ],
  [
    "with cursors that are numbers and include their row, and rows in any order",
    {
      numericCursor: true,
      wrapSource: quirky({
        pastHorizon: "refuse",
        inclusiveCursor: true,
        pageOrder: "shuffled",
        lastPage: "no-id",
        bounds: "end",
      }),
    },
  ],
  [
    "with short pages, ids that categories share, fees inside of futures' amounts, and position fields that came later",
    {
      wrapSource: quirky({ shortPages: true, lastPage: "empty-string", bounds: "start" }),
      unified: {
        areIdsReused: true,
        isFuturesFeeInside: true,
        positionsSince: simulationStart - 40 * dayMs,
      },
    },
  ],
];

describe("a unified account of an exchange", () => {
  test.each(kinds)(
    "%s, is copied to the last digit, adds up over all categories, and a later run reads what came late",
    async (_title, options) => {
      await using database = await testDatabase();
      await using tables = openDatabase(database.url);
      await using simulation = simulate(database.url, {
        seed: 1,
        name: "unified",
        density: 0.2,
        modes: unified,
        productTypes: unifiedProductTypes,
        ...options,
      });
      for (let run = 0; run < 2; run++) {
        const report = await simulation.sync();
        expect(report.error).toBeUndefined();
        expect(report.ledgers.filter(({ error }) => error !== undefined)).toEqual([]);
        const compared = await simulation.compare();
        expect(
          compared.map(({ missing, extra, different }) => ({ missing, extra, different })),
        ).toEqual(unifiedProductTypes.map(() => exactly));
        expect(compared.every(({ expected }) => expected > 20)).toBe(true);
        await simulation.pass(hourMs);
      }
      const everything = { accounts: undefined, productTypes: undefined };
      const { breaks, chains } = await reconcile(tables.db, everything, { isFull: true });
      expect(breaks).toEqual([]);
      expect(chains.map(({ wallet }) => wallet)).toEqual(chains.map(() => "UTA"));
      expect(chains.every(({ days }) => days.reconciled > 0 && days.incomplete <= 2)).toBe(true);
      const { peaks, refusals } = simulation.sandbox.statistics();
      expect(refusals).toEqual({});
      expect(Math.max(...peaks.map(({ requests }) => requests))).toBeLessThanOrEqual(20);
    },
    60_000,
  );
});
