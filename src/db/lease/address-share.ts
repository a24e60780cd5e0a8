import { type Clock, repeatEvery } from "../../clock.ts";
import { secondMs } from "../../contract/time.ts";
import type { AddressLimits } from "../../exchange/address-limits.ts";
import type { Database } from "../connect.ts";
import { countNeighbours, type Egress } from "./holders.ts";

// A hundred processes may send for a second before they know of each other without exceeding the
// limit.
const lookEveryMs = secondMs;

/**
 * Shares the limit of the address that requests leave from with the other processes that send from
 * it and hold a lease in this database. The share is set before it returns, and kept up to date
 * until it is disposed. While the database does not answer, the last share stays.
 */
export async function shareAddress(
  db: Database,
  limits: AddressLimits,
  clock: Clock,
  egress: Egress = {},
): Promise<Disposable> {
  const over = new AbortController();
  const look = () =>
    countNeighbours(db, egress).then(
      (neighbours) => limits.shareAmong(1 + neighbours),
      () => undefined,
    );
  await look();
  void repeatEvery(clock, lookEveryMs, over.signal, look);
  return { [Symbol.dispose]: () => over.abort() };
}
