import { hostname } from "node:os";
import { sql } from "drizzle-orm";
import { type Database, urgently } from "../connect.ts";

/** What a lease's row calls a process: the machine comes first, so that neighbours know each other. */
export const holderName = (pid: number = process.pid): string => `${hostname()} process ${pid}`;

/**
 * How many other processes of this machine hold a lease by now, in this database. A process that was
 * killed is counted until its lease expires.
 */
export async function countNeighbours(db: Database): Promise<number> {
  const { rows } = await urgently(db, (connection) =>
    connection.execute<{ neighbours: number }>(sql`
      select count(distinct holder)::int as neighbours
      from (
        select holder, expires_at
        from account_leases
        union all
        select holder, expires_at
        from account_guests
      ) as leases
      where expires_at > clock_timestamp()
        and starts_with(holder, ${`${hostname()} process `})
        and holder <> ${holderName()}`),
  );
  return rows[0]?.neighbours ?? 0;
}
