import type { Clock } from "../clock.ts";
import { secondMs } from "../contract/time.ts";
import type { Database } from "../db/connect.ts";
import { countNeighbours, type Egress } from "../db/lease/neighbours.ts";
import type { AddressLimits } from "../exchange/address-limits.ts";

// What a hundred processes send in a second before they know of each other leaves the limit whole.
const lookEveryMs = secondMs;

/**
 * Shares the address that requests leave from with the other processes that do, and hold a lease in this
 * database: before it returns, and until it is disposed. Where the database does not answer, the last
 * share stays.
 */
export async function shareAddress(
  db: Database,
  limits: AddressLimits,
  clock: Clock,
  egress: Egress = {},
): Promise<Disposable> {
  const over = new AbortController();
  const look = async () => limits.shareAmong(1 + (await countNeighbours(db, egress)));
  const keepLooking = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await clock.sleep(lookEveryMs, over.signal);
      await look().catch(() => undefined);
    }
  };
  await look().catch(() => undefined);
  keepLooking().catch(() => undefined);
  return { [Symbol.dispose]: () => over.abort() };
}
