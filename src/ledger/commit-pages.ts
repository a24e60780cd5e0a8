import { sql } from "drizzle-orm";
import type { Transaction } from "../db/connect.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { timeText } from "../db/sql/time-text.ts";
import type { PageCommit, PageCounts } from "../sync/store.ts";
import { hasCurrentRows, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { type BeforeBills, lookUpBills, recordBills, storeBills } from "./upsert-bills.ts";
import { endWindows, moveCursors, type OpenCount, readEnding } from "./walked-windows.ts";

/*
 * Each statement that waits for another one's answer costs a round trip, and a database may be 300 ms away.
 * So a transaction of pages sends its reads together with BEGIN, and its writes other than bills together:
 * five round trips in all, two of them for COPY, and three where no page has a bill.
 */

/** What is read before pages are written. */
export type BeforePages = {
  readonly bills: BeforeBills;
  readonly hasCurrentRows: boolean;
  readonly ending: ReadonlyMap<PageCommit, OpenCount>;
};

/** Reads it in one round trip. @throws CommitsLostError where the page before an ending one is gone. */
export async function lookUpPages(
  tx: Transaction,
  pages: readonly PageCommit[],
): Promise<BeforePages> {
  const [bills, hasCurrent, ending] = await Promise.all([
    lookUpBills(tx, pages),
    hasCurrentRows(tx, pages),
    readEnding(tx, pages),
  ]);
  return { bills, hasCurrentRows: hasCurrent, ending };
}

/** Writes pages of one account, at most one of each window, and all that follows from them. */
export async function writePages(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: BeforePages,
  runId: string,
): Promise<{ readonly counts: readonly PageCounts[]; readonly endedAt: string }> {
  const stored = await storeBills(tx, pages, before.bills);
  // Independent of each other, so sent together: one round trip where nothing was rejected.
  const [rejected, endedAt] = await Promise.all([
    keepRejected(tx, pages, before, runId),
    readEnd(tx),
    recordBills(tx, pages, before.bills, stored),
    endWindows(tx, before.ending, runId),
    moveCursors(tx, pages, runId),
  ]);
  const counts = stored.counts.map((counted, place) => ({
    ...counted,
    rejected: onlyRow(rejected.slice(place, place + 1), "a page's rejected rows"),
  }));
  return { counts, endedAt };
}

/** A time of the database, as text, that is later than that of any bill this transaction has stored. */
async function readEnd(tx: Transaction): Promise<string> {
  const time = timeText(sql`(clock_timestamp()::timestamptz(3) + interval '1 ms')`);
  const { rows } = await tx.execute<{ time: string }>(sql`select ${time} as time`);
  return onlyRow(rows, "the database's time").time;
}

async function keepRejected(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: BeforePages,
  runId: string,
): Promise<readonly number[]> {
  if (before.hasCurrentRows) await supersedeRows(tx, pages);
  const counts: number[] = [];
  for (const { stream, rejected } of pages) {
    counts.push(await rejectRows(tx, stream, runId, rejected));
  }
  return counts;
}
