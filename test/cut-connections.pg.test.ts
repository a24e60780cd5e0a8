import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { expect, test } from "vitest";
import { integer, seededRandom } from "../src/sandbox/random.ts";
import { isComplete } from "../src/sync/run.ts";
import { testDatabase } from "./support/database.ts";
import { simulate } from "./support/simulation.ts";

const seedCount = 12;
const seeds = Array.from({ length: seedCount }, (_, seed) => seed);

test.each(seeds)(
  "connections that the server ends at any moment cost no bill (seed %i)",
  async (seed) => {
    await using database = await testDatabase();
    const firstCut = Promise.withResolvers<void>();
    await using simulation = simulate(database.url, {
      name: "cut",
      seed,
      density: 0.5,
      productTypes: ["USDT-FUTURES", "COIN-FUTURES"],
      // Pages wait for the first cut: on an idle machine the run would end before it.
      wrapStore: (store) => ({
        ...store,
        commitPage: (page) => firstCut.promise.then(() => store.commitPage(page)),
      }),
    });
    const random = seededRandom(`cuts ${seed}`);
    const isOver = new AbortController();
    const cutting = cutConnections(
      database.url,
      () => integer(random, 20, 150),
      firstCut.resolve,
      isOver.signal,
    );
    cutting.catch(firstCut.reject);
    // A run that cannot give its lease back rejects. What it stored counts all the same.
    for (let run = 0; run < 3; run++) await simulation.sync().catch(() => undefined);
    isOver.abort();
    await cutting;
    expect(await simulation.sync()).toSatisfy(isComplete);
    for (const comparison of await simulation.compare()) {
      expect(comparison).toMatchObject({ missing: [], extra: [], different: [] });
    }
  },
);

/** Ends the program's connections again and again, and says when it has ended the first. */
async function cutConnections(
  url: string,
  pauseMs: () => number,
  onCut: () => void,
  signal: AbortSignal,
): Promise<void> {
  const client = new Client({ connectionString: url, application_name: "cutter" });
  await client.connect();
  while (!signal.aborted) {
    const { rowCount } = await client.query(`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database()
        and application_name = 'bill-sync'`);
    if (rowCount !== 0) onCut();
    await delay(pauseMs());
  }
  await client.end();
}
