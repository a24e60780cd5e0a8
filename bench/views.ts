import { Client } from "pg";
import { openDatabases } from "./backfill/databases.ts";
import { type Bench, median } from "./result.ts";
import { chainedLedger } from "./support/chained-ledger.ts";

/*
 * How long it takes to read the views over the bills: all rows of four ledgers, and those of one.
 */

const views = [
  "activity",
  "daily_rollforward",
  "monthly_rollforward",
  "month_end_balances",
  "fees_by_symbol_day",
  "realised_pnl_by_symbol_day",
  "funding_by_symbol_day",
  "liquidations",
  "data_quality",
];

export const run: Bench = async ({ short }) => {
  const bills = short ? 10_000 : 1_000_000;
  const rounds = short ? 1 : 5;
  await using databases = await openDatabases();
  const client = new Client({ connectionString: await databases.fresh() });
  await client.connect();
  try {
    await client.query(chainedLedger(bills));
    await client.query("vacuum analyze");
    const secondsOf = async (view: string, condition: string) => {
      // All columns are made, and no row is sent.
      const statement = `select count(v::text) from analytics.${view} as v ${condition}`;
      const seconds: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const startedAt = performance.now();
        await client.query(statement);
        seconds.push((performance.now() - startedAt) / 1_000);
      }
      return median(seconds);
    };
    const measured = [];
    for (const view of views) {
      measured.push({
        view,
        all: await secondsOf(view, ""),
        one: await secondsOf(view, "where account = 'main' and product_type = 'chain-1'"),
      });
    }
    return {
      name: "views",
      title: `seconds to read the views over ${bills.toLocaleString("en")} bills (${databases.version})`,
      rows: [
        ["", "four ledgers", "one of them"],
        ...measured.map(({ view, all, one }) => [view, all.toFixed(2), one.toFixed(2)]),
      ],
      json: { bills, measured },
    };
  } finally {
    await client.end();
  }
};
