// Holds: Tiling, Atomic pages, Within the limit
// A window with most of the bills is handed back in parts, which are read side by side.

import { expect, test } from "vitest";
import { readKnownTime } from "../src/core/store/known-time.ts";
import type { Store } from "../src/core/store/ledger-store.ts";
import { isComplete } from "../src/core/sync/account-report.ts";
import type { PageCommit } from "../src/core/words/page.ts";
import { dayMs } from "../src/lib/time.ts";
import { fileDatabase } from "./support/database.ts";
import { type SimulationOptions, simulate, simulationStart } from "./support/simulation.ts";
import { coverUpTo } from "./support/stored-ledger.ts";

const { db, url } = await fileDatabase();
const productType = "USDT-FUTURES";

/** All is covered but the last days, which have most of the bills. A page takes a third of a second. */
async function busyDays(name: string, options: Partial<SimulationOptions> = {}) {
  const productTypes = [productType] as const;
  await coverUpTo(db, { account: name, productType }, simulationStart - 6 * dayMs);
  return simulate(url, {
    name,
    seed: 1,
    density: 60,
    days: 6,
    productTypes,
    wayMs: 150,
    ...options,
  });
}

type Simulation = Awaited<ReturnType<typeof busyDays>>;

async function expectExact(simulation: Simulation): Promise<void> {
  const [comparison] = await simulation.compare();
  expect(comparison?.expected).toBeGreaterThan(2_000);
  expect(comparison).toMatchObject({ missing: [], extra: [], different: [] });
}

const partsOf = ({ next }: PageCommit) => ("handedBack" in next ? (next.handedBack ?? []) : []);

/** Calls `commit` in the place of a page's commit. */
const withCommit =
  (commit: (page: PageCommit, store: Store) => ReturnType<Store["commitPage"]>) =>
  (store: Store): Store => ({ ...store, commitPage: (page) => commit(page, store) });

/** Whether each covered or open window begins where the one before it ends. */
async function expectTiled(account: string): Promise<void> {
  const { coverage, open } = await readKnownTime(db, { account, productType });
  const windows = [...coverage, ...open.map(({ window }) => window)];
  const sorted = windows.toSorted((a, b) => a.from - b.from);
  const starts = sorted.slice(1).map(({ from }) => from);
  expect(starts).toEqual(sorted.slice(0, -1).map(({ to }) => to));
}

test("a week with most of the bills is read in parts, side by side, so that the limit is used", async () => {
  let parts = 0;
  const wrapStore = withCommit((page, store) => {
    parts += partsOf(page).length;
    return store.commitPage(page);
  });
  await using simulation = await busyDays("whole", { wrapStore });
  const began = simulation.time.now();
  const report = await simulation.sync();
  expect(report).toSatisfy(isComplete);
  const seconds = (simulation.time.now() - began) / 1_000;
  await expectExact(simulation);
  expect(parts).toBeGreaterThan(2);
  expect(report.ledgers).toMatchObject([{ windowsPlanned: 1 + parts, windowsRead: 1 + parts }]);
  const { arrivals, refusals } = simulation.sandbox.statistics();
  expect(refusals).toEqual({});
  const requests = arrivals["account bills"] ?? 0;
  expect(requests / 10 / seconds).toBeGreaterThan(0.8);
});

const kills = [0, 1, 6].flatMap((pages) =>
  ["before", "after"].map((when) => [pages, when] as const),
);

test.each(kills)(
  "a run that dies %i pages after its first hand back, %s the page's commit, is taken up by the next one: each bill is stored once, no time is lost",
  async (pages, when) => {
    const account = `dies ${pages} ${when}`;
    let after = -1;
    let isOver = false;
    const wrapStore = withCommit(async (page, store) => {
      if (after >= 0 || partsOf(page).length > 0) after += 1;
      if (isOver || after < pages) return store.commitPage(page);
      if (after === pages && when === "after") await store.commitPage(page);
      throw new Error("dead");
    });
    await using simulation = await busyDays(account, { wrapStore });
    expect(await simulation.sync()).not.toSatisfy(isComplete);
    await expectTiled(account);
    isOver = true;
    expect(await simulation.sync()).toSatisfy(isComplete);
    await expectExact(simulation);
    await expectTiled(account);
  },
);
