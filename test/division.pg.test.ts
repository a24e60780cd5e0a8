import { describe, expect, test } from "vitest";
import { readKnownTime } from "../src/ledger/known-time.ts";
import { pick, seededRandom } from "../src/sandbox/random.ts";
import { lengthMs, union } from "../src/sync/intervals.ts";
import { isComplete } from "../src/sync/run.ts";
import type { Store } from "../src/sync/store.ts";
import { quirky } from "./faults/quirks.ts";
import { fileDatabase } from "./support/database.ts";
import { type SimulationOptions, simulate } from "./support/simulation.ts";

const { database, tables } = await fileDatabase();
const productType = "USDT-FUTURES";
const name = () => `divided-${crypto.randomUUID()}`;

/** One week has most of the bills, and a page takes so long that one walk uses a third of the limit. */
function heavyWeek(options: Partial<SimulationOptions> = {}) {
  const random = seededRandom(options.seed ?? 1);
  return simulate(database.url, {
    name: name(),
    seed: 1,
    density: 3,
    productTypes: [productType],
    latencyMs: () => 150 + 20 * random(),
    ...options,
  });
}

type Simulation = ReturnType<typeof heavyWeek>;

async function expectExact(simulation: Simulation): Promise<void> {
  const [comparison] = await simulation.compare();
  expect(comparison?.expected).toBeGreaterThan(5_000);
  expect(comparison).toMatchObject({ missing: [], extra: [], different: [] });
}

/** Records the divisions. Where `lose` says so, a call fails before it is done, or after it. */
const watched =
  (
    divisions: { count: number },
    lose: (call: number) => "before" | "after" | undefined = () => undefined,
  ) =>
  (store: Store): Store => {
    let calls = 0;
    const losing =
      <Given extends unknown[], Done>(write: (...given: Given) => Promise<Done>) =>
      async (...given: Given): Promise<Done> => {
        const loss = lose(++calls);
        if (loss === "before") throw new Error("lost before");
        const done = await write(...given);
        if (loss === "after") throw new Error("lost after");
        return done;
      };
    return {
      ...store,
      commitPage: losing(store.commitPage),
      divideWindow: losing(async (...given) => {
        divisions.count += 1;
        await store.divideWindow(...given);
      }),
    };
  };

const windowsOf = async (account: string) => {
  const { coverage, open } = await readKnownTime(tables.db, { account, productType });
  return [...coverage, ...open.map(({ window }) => window)].toSorted((a, b) => a.from - b.from);
};

/** Whether each window begins where the one before it ends. */
const tile = (windows: readonly { readonly from: number; readonly to: number }[]): boolean =>
  windows.every(({ from }, index) => index === 0 || windows[index - 1]?.to === from);

describe("a week with most of the bills", () => {
  test("is divided while slots are idle, so that the limit is used to its end", async () => {
    const divisions = { count: 0 };
    const account = name();
    await using simulation = heavyWeek({ name: account, wrapStore: watched(divisions) });
    const began = simulation.time.now();
    expect(await simulation.sync()).toSatisfy(isComplete);
    const seconds = (simulation.time.now() - began) / 1_000;
    await expectExact(simulation);
    expect(divisions.count).toBeGreaterThan(0);
    const { arrivals, refusals, peaks } = simulation.sandbox.statistics();
    const requests = arrivals["account bills"] ?? 0;
    expect(refusals).toEqual({});
    expect(peaks[0]?.requests).toBe(10);
    expect(requests / 10 / seconds).toBeGreaterThan(0.75);
    expect(await windowsOf(account)).toSatisfy(tile);
  });

  test("is not divided where one walk keeps all slots busy", async () => {
    const divisions = { count: 0 };
    await using simulation = heavyWeek({ latencyMs: () => 5, wrapStore: watched(divisions) });
    expect(await simulation.sync()).toSatisfy(isComplete);
    expect(divisions.count).toBe(0);
  });

  const exchanges = 3;
  test.each(Array.from({ length: exchanges }, (_, seed) => seed))(
    "is exact after its division, whatever the exchange does with bounds and pages, and twice is once (seed %i)",
    async (seed) => {
      const random = seededRandom(`division ${seed}`);
      const divisions = { count: 0 };
      await using simulation = heavyWeek({
        seed,
        wrapSource: quirky({
          bounds: pick(random, ["both", "start", "end", "neither"] as const),
          lastPage: pick(random, ["empty-string", "null-id", "no-id", "null-bills"] as const),
          pageOrder: pick(random, ["newest-first", "oldest-first", "shuffled"] as const),
          shortPages: random() < 0.3,
        }),
        wrapStore: watched(divisions),
      });
      expect(await simulation.sync()).toSatisfy(isComplete);
      expect(divisions.count).toBeGreaterThan(0);
      await expectExact(simulation);
      expect(await simulation.sync()).toSatisfy(isComplete);
      await expectExact(simulation);
    },
  );

  const points = 4;
  test.each(
    Array.from(
      { length: points },
      (_, point) => [point * 12 + 5, point % 2 === 0 ? "before" : "after"] as const,
    ),
  )(
    "tiles its time at every moment: a run that dies at write %i, %s it is done, is taken up by the next one",
    async (point, when) => {
      const account = name();
      const divisions = { count: 0 };
      const options = { name: account, seed: point };
      let dead = false;
      await using simulation = heavyWeek({
        ...options,
        wrapStore: (store) =>
          dead ? store : watched(divisions, (call) => (call >= point ? when : undefined))(store),
      });
      expect(await simulation.sync()).not.toSatisfy(isComplete);
      const left = await windowsOf(account);
      expect(left).toSatisfy(tile);
      dead = true;
      const { coverage } = await readKnownTime(tables.db, { account, productType });
      expect(lengthMs(union(coverage))).toBe(lengthMs(coverage));
      expect(await simulation.sync()).toSatisfy(isComplete);
      await expectExact(simulation);
      expect(await windowsOf(account)).toSatisfy(tile);
    },
  );
});
