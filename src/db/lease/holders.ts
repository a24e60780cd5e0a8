import { hostname } from "node:os";
import { sql } from "drizzle-orm";
import { type Clock, repeatEvery } from "../../clock.ts";
import { secondMs } from "../../contract/time.ts";
import type { AddressLimits } from "../../exchange/address-limits.ts";
import { type Database, urgently } from "../connect.ts";

/** How a process's requests leave its machine. */
export type Egress = {
  /** The address of this machine that they are sent from. Default the system's choice. */
  readonly localAddress?: string;
  /**
   * A name for the address that the exchange sees, the same in all processes that share it: behind a
   * NAT, say, several machines do. Default `localAddress`; without one, this machine.
   */
  readonly name?: string;
};

/** The egress's name, which all that share its limit use; undefined for the machine's default. */
export const egressName = ({ name, localAddress }: Egress): string | undefined =>
  name ?? localAddress;

/** How a lease's row names its holder. Its machine and egress tell neighbours apart from others. */
export function holderName(pid: number = process.pid, egress: Egress = {}): string {
  const name = egressName(egress);
  return `${hostname()} process ${pid}${name === undefined ? "" : via(name)}`;
}

const via = (name: string): string => ` via ${name}`;

/**
 * How many other processes that send from the same address hold a lease in this database. A process
 * without a named address counts for every address of its machine. One that was killed is counted
 * until its lease expires.
 */
export async function countNeighbours(db: Database, egress: Egress = {}): Promise<number> {
  const name = egressName(egress);
  const ofMachine = sql`starts_with(holder, ${`${hostname()} process `})`;
  const sharing =
    name === undefined
      ? ofMachine
      : sql`(
          right(holder, ${via(name).length}) = ${via(name)}
          or ${ofMachine} and strpos(holder, ' via ') = 0
        )`;
  const { rows } = await urgently(db, (connection) =>
    connection.execute<{ neighbours: number }>(sql`
      select count(distinct holder)::int as neighbours
      from leases
      where expires_at > clock_timestamp()
        and holder <> ''
        and ${sharing}
        and holder <> ${holderName(process.pid, egress)}`),
  );
  return rows[0]?.neighbours ?? 0;
}

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
