import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Queryable } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { isOneOf } from "./sql/one-of.ts";

/**
 * Estimates the exchange's time without asking it: the time in the answers to the last run, plus what
 * has passed on the database's clock since they were stored. It may be late by as long as that run
 * took for a window. A constant error of the database's clock cancels out.
 *
 * @param accounts whose runs to look at. Default any.
 * @returns the database's own time where no run has stored the exchange's yet.
 */
export async function readExchangeTime(
  db: Queryable,
  accounts?: readonly string[],
): Promise<EpochMs> {
  return withDatabaseErrors(async () => {
    // Only the account that was synced last: a hundred thousand accounts have millions of windows.
    const { rows: last } = await db.execute<{ account: string }>(sql`
      select account
      from streams
      where told_at is not null
        and ${isOneOf(accounts)}
      order by told_at desc
      limit 1`);
    const account = last[0]?.account;
    const { rows } = await db.execute<{ now: string }>(sql`
      with told as (
        select
          run_id,
          started_at,
          updated_at
        from checkpoints
        where started_at is not null
          and ${isOneOf(account === undefined ? accounts : [account])}
      ),
      last_run as (
        select
          max(started_at) as told_at,
          min(updated_at - started_at) as ahead
        from told
        where run_id = (select run_id from told order by started_at desc limit 1)
      )
      select
        extract(epoch from coalesce(
          -- Where the database's clock was set back since, its time may lie before the stored one.
          greatest(clock_timestamp() - ahead, told_at),
          clock_timestamp()
        )) * 1000 as now
      from last_run`);
    return epochMs(Math.floor(Number(rows[0]?.now)));
  });
}
