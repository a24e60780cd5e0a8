import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { Client } from "pg";
import { type Bill, noPosition } from "../../src/contract/bill.ts";
import { epochMs } from "../../src/contract/time.ts";
import { inTransaction, openDatabase } from "../../src/db/connect.ts";
import { daysOfPages } from "../../src/db/days/mark-days.ts";
import { addToCounts } from "../../src/db/ledger/bill-counts.ts";
import { openStore } from "../../src/db/ledger/ledger-store.ts";
import { snowflake } from "../../src/sandbox/snowflake.ts";
import { serverCpuMs } from "./server-cpu.ts";

const stream = { account: "written", productType: "USDT-FUTURES" } as const;
const pageSize = 100;
const beginning = Date.UTC(2026, 0, 1);

/** CPU milliseconds a page: of storing it whole, in a transaction of its own, and of marking its days. */
export type MarkCost = { readonly pageCpuMs: number; readonly markCpuMs: number };

/** What the server and this process take together. Their reading of the page is not in it. */
export async function markCost(url: string, rounds: number): Promise<MarkCost> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await using database = openDatabase(url);
    const { db } = database;
    await db.execute(sql`
      insert into account_leases (account, holder, epoch, expires_at)
      values (${stream.account}, 'bench', 1, clock_timestamp() + interval '1 hour')`);
    const store = openStore(db, { account: stream.account, epoch: 1 }, randomUUID());
    const window = { from: epochMs(beginning), to: epochMs(beginning + rounds * 100_000) };
    await store.recordPlan({ stream, walks: [{ window }], expired: [] });
    const cpuMs = async () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000 + (await serverCpuMs(client));
    };
    const measured = async (act: () => Promise<unknown>): Promise<number> => {
      const before = await cpuMs();
      await act();
      return (await cpuMs()) - before;
    };
    const pageCpuMs = await measured(async () => {
      let after: string | undefined;
      for (let page = 0; page < rounds; page++) {
        const bills = pageOf(page);
        const next = { cursor: bills[0]?.billId };
        const startedAt = window.to;
        await store.commitPage({ stream, window, startedAt, after, bills, rejected: [], next });
        after = next.cursor;
      }
    });
    // The statement that marks days does something else besides: the difference is what it costs.
    const counted = (isMarked: boolean) =>
      measured(() =>
        inTransaction(db, async (tx) => {
          for (let page = 0; page < rounds; page++) {
            const pages = [{ stream, bills: pageOf(page) }];
            const besides = isMarked ? daysOfPages(pages) : sql`select`;
            await addToCounts(tx, pages, [{ new: pageSize }], besides);
          }
        }),
      );
    const marked = [await counted(true), await counted(true)];
    const unmarked = [await counted(false), await counted(false)];
    return {
      pageCpuMs: pageCpuMs / rounds,
      markCpuMs: (Math.min(...marked) - Math.min(...unmarked)) / rounds,
    };
  } finally {
    await client.end();
  }
}

const pageOf = (page: number): Bill[] =>
  Array.from({ length: pageSize }, (_, index) => {
    const cTime = epochMs(beginning + page * 100_000 + index * 1_000);
    return {
      billId: snowflake(cTime, index),
      symbol: "BTCUSDT",
      amount: "1.5",
      fee: "-0.0123",
      feeByCoupon: null,
      businessType: "close_long",
      coin: "USDT",
      balance: "100",
      cTime,
      ...noPosition,
      extra: null,
    };
  });
