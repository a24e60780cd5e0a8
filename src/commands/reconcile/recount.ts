import type { Database } from "../../db/connect.ts";
import { type BillCount, recountBills } from "../../ledger/bill-counts.ts";
import { rebuildDays } from "../../ledger/differing-days.ts";
import { formatCount } from "../../output/format.ts";
import { streamName } from "../../output/stream-names.ts";
import type { Stream } from "../../sync/store.ts";

/**
 * Corrects the number of bills that status shows for these streams, and the days of accounts of which
 * bills disappeared. @returns the counts that were wrong.
 */
export async function recount(
  db: Database,
  streams: readonly Stream[],
): Promise<readonly BillCount[]> {
  const counts: BillCount[] = [];
  for (const stream of streams) counts.push(await recountBills(db, stream));
  const lost = counts.filter(({ counted, stored }) => stored < counted);
  for (const account of new Set(lost.map((count) => count.account))) await rebuildDays(db, account);
  return counts.filter(({ counted, stored }) => counted !== stored);
}

export const recountText = ({ counted, stored, ...stream }: BillCount): string =>
  `${streamName(stream)}: status showed ${formatCount(counted)} bills; ${formatCount(stored)} ` +
  "are stored, and status shows these from now on";
