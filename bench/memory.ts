import { type Bench, median } from "./result.ts";
import { openPageExchange } from "./support/exchange.ts";
import { openBenchServer } from "./support/postgres.ts";
import { syncProcess } from "./support/sync.ts";

/*
 * The peak resident memory of a backfill's process: one account, with as many pages at once as it
 * takes, from an exchange without a rate limit. It must not grow with the number of bills.
 */

const productTypesEach = 2;

export const run: Bench = async ({ short }) => {
  const sizes = short ? [2_000, 20_000] : [100_000, 1_000_000];
  const runs = short ? 1 : 3;
  await using server = await openBenchServer();
  const peaks: { readonly bills: number; readonly peaksMiB: number[] }[] = [];
  for (const bills of sizes) {
    await using exchange = await openPageExchange(bills / productTypesEach);
    const peaksMiB: number[] = [];
    for (let done = 0; done < runs; done++) {
      await using database = await server.database();
      const result = await syncProcess({
        databaseUrl: database.url,
        exchangeUrl: exchange.url,
        accounts: 1,
        productTypesEach,
      });
      if (result.new !== bills) throw new Error(`${result.new} bills came instead of ${bills}`);
      peaksMiB.push(result.maxRssMiB);
    }
    peaks.push({ bills, peaksMiB });
  }
  const [small, large] = peaks.map(({ peaksMiB }) => median(peaksMiB));
  return {
    name: "memory",
    title: "peak resident memory of a backfill's process",
    rows: [
      ["bills", "MiB"],
      ...peaks.map(({ bills, peaksMiB }) => [
        bills.toLocaleString("en"),
        median(peaksMiB).toFixed(0),
      ]),
    ],
    notes: [`ratio ${((large ?? Number.NaN) / (small ?? Number.NaN)).toFixed(2)}`],
    json: { peaks },
  };
};
