import { secondMs } from "../../contract/time.ts";
import { type Database, inTransaction } from "../../db/connect.ts";
import { isOverdue } from "../../db/database-errors.ts";
import { type BillCount, countBills, readCountedStreams } from "../../db/ledger/bill-counts.ts";
import type { Stream } from "../../sync/store.ts";
import { formatCount } from "../../terminal/format.ts";
import { streamName } from "../../terminal/stream-names.ts";
import { type Check, ok } from "./check.ts";

const name = "counts";
// Enough to count some ten million bills that are in memory.
const countMaxMs = 2 * secondMs;

const remedy = "reconcile --full counts them anew";

/**
 * Whether the counts that status shows equal the number of rows. Undefined if nothing is stored.
 */
export async function checkCounts(db: Database): Promise<Check | undefined> {
  const streams = await readCountedStreams(db);
  if (streams.length === 0) return undefined;
  const wrong: string[] = [];
  const overdueAt = performance.now() + countMaxMs;
  for (const stream of streams) {
    const count = await countInTime(db, stream, overdueAt - performance.now());
    if (count === undefined) {
      return ok(name, `not checked, there are too many bills to count in passing; ${remedy}`);
    }
    const { counted, stored } = count;
    if (counted === stored) continue;
    wrong.push(
      `${streamName(stream)}: status shows ${formatCount(counted)} bills, and ` +
        `${formatCount(stored)} are stored`,
    );
  }
  if (wrong.length > 0) return { status: "warn", name, found: wrong.join("; "), remedy };
  return ok(name, "status shows as many bills as are stored");
}

/** Undefined if counting takes longer than the time left. */
async function countInTime(
  db: Database,
  stream: Stream,
  leftMs: number,
): Promise<BillCount | undefined> {
  if (leftMs < 1) return undefined;
  const statementMaxMs = Math.ceil(leftMs);
  try {
    return await inTransaction(db, (tx) => countBills(tx, stream), { statementMaxMs });
  } catch (error) {
    if (isOverdue(error)) return undefined;
    throw error;
  }
}
