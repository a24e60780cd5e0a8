import { secondMs } from "../../contract/time.ts";
import { type Database, inTransaction } from "../../db/connect.ts";
import { countBills } from "../../ledger/bill-counts.ts";
import { formatCount } from "../../output/format.ts";
import { streamName } from "../../output/stream-names.ts";
import type { Stream } from "../../sync/store.ts";
import { type Check, ok } from "./check.ts";
import { lookInTime } from "./look-in-time.ts";

const name = "counts";
// Enough to count some ten million bills that are in memory.
const countMaxMs = 2 * secondMs;

const remedy = "reconcile --full counts them again";

/** Whether the counts that status shows equal the number of rows. */
export async function checkCounts(db: Database, streams: readonly Stream[]): Promise<Check> {
  const counts = await lookInTime(streams, countMaxMs, async (stream, limit) => [
    await inTransaction(db, (tx) => countBills(tx, stream), limit),
  ]);
  if (counts === undefined) {
    return ok(name, `not checked: counting so many bills takes too long here; ${remedy}`);
  }
  const wrong = counts
    .filter(({ counted, stored }) => counted !== stored)
    .map(
      ({ counted, stored, ...stream }) =>
        `${streamName(stream)}: status shows ${formatCount(counted)} bills, and ` +
        `${formatCount(stored)} are stored`,
    );
  if (wrong.length > 0) return { status: "warn", name, found: wrong.join("; "), remedy };
  return ok(name, "status shows as many bills as are stored");
}
