import type { Database } from "../db/connect.ts";
import { type BillCount, recountBills } from "../ledger/bill-counts.ts";
import type { Stream } from "../sync/store.ts";
import { formatCount } from "../terminal/format.ts";
import { streamName } from "../terminal/stream-names.ts";

/**
 * Corrects the number of bills that status shows for these streams. @returns the counts that were
 * wrong.
 */
export async function recount(
  db: Database,
  streams: readonly Stream[],
): Promise<readonly BillCount[]> {
  const counts: BillCount[] = [];
  for (const stream of streams) counts.push(await recountBills(db, stream));
  return counts.filter(({ counted, stored }) => counted !== stored);
}

export const recountText = ({ counted, stored, ...stream }: BillCount): string =>
  `${streamName(stream)}: status showed ${formatCount(counted)} bills; ${formatCount(stored)} ` +
  "are stored, and status shows these from now on";
