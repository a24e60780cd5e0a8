import { randomUUID } from "node:crypto";
import { sql } from "drizzle-orm";
import { Client } from "pg";
import { type Bill, noPosition } from "../../src/contract/bill.ts";
import { epochMs } from "../../src/contract/time.ts";
import { inTransaction, openDatabase } from "../../src/db/connect.ts";
import { putIntoDays } from "../../src/ledger/days.ts";
import { openStore } from "../../src/ledger/ledger-store.ts";
import { snowflake } from "../../src/sandbox/snowflake.ts";
import { median } from "../result.ts";
import { serverCpuMs } from "./server-cpu.ts";

const stream = { account: "written", productType: "USDT-FUTURES" } as const;
const pageSize = 100;
const beginning = Date.UTC(2026, 0, 1);

/**
 * CPU milliseconds of a page: for storing it in a transaction of its own, and for its days alone.
 * The share is the median of the rounds, each of which measures both.
 */
export type DayCost = {
  readonly pageCpuMs: number;
  readonly daysCpuMs: number;
  readonly share: number;
};

/** The CPU of the server and of this process together, without reading the page. */
export async function dayCost(
  url: string,
  { rounds, pages }: { readonly rounds: number; readonly pages: number },
): Promise<DayCost> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await using database = openDatabase(url);
    const { db } = database;
    await db.execute(sql`
      insert into leases (account, holder, epoch, expires_at)
      values (${stream.account}, 'bench', 1, clock_timestamp() + interval '1 hour')`);
    const store = openStore(db, { account: stream.account, epoch: 1 }, randomUUID());
    const until = epochMs(beginning + rounds * pages * 100_000);
    const window = { from: epochMs(beginning), to: until };
    await store.recordPlan({ stream, plannedAt: until, walks: [{ window }], lost: [] });
    const cpuMs = async () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000 + (await serverCpuMs(client));
    };
    const measured = async (act: () => Promise<unknown>): Promise<number> => {
      const before = await cpuMs();
      await act();
      return ((await cpuMs()) - before) / pages;
    };
    let after: string | undefined;
    const stored = (first: number) =>
      measured(async () => {
        for (let page = first; page < first + pages; page++) {
          const bills = pageOf(page);
          const next = { cursor: bills[0]?.billId };
          const startedAt = until;
          await store.commitPage({ stream, window, startedAt, after, bills, rejected: [], next });
          after = next.cursor;
        }
      });
    const addedUp = (first: number) =>
      measured(() =>
        inTransaction(db, async (tx) => {
          for (let page = first; page < first + pages; page++) {
            const written = pageOf(page).map((bill) => ({
              ...bill,
              productType: stream.productType,
              hasExtra: false,
            }));
            await putIntoDays(tx, stream.account, written, []);
          }
        }),
      );
    const taken: DayCost[] = [];
    for (let round = 0; round < rounds; round++) {
      const first = round * pages;
      const pageCpuMs = await stored(first);
      const daysCpuMs = await addedUp(first);
      taken.push({ pageCpuMs, daysCpuMs, share: daysCpuMs / pageCpuMs });
    }
    const middle = (pick: (one: DayCost) => number) => median(taken.map(pick));
    return {
      pageCpuMs: middle(({ pageCpuMs }) => pageCpuMs),
      daysCpuMs: middle(({ daysCpuMs }) => daysCpuMs),
      share: middle(({ share }) => share),
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
