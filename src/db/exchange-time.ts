import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Queryable } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { isOneOf } from "./values.ts";

/**
 * Estimates the exchange's time without asking it: the time at which a run planned last, plus what has passed on
 * the database's clock since then. A constant error of the database's clock cancels out.
 *
 * @param accounts whose runs to look at. Default any.
 * @returns the database's own time where no run has stored the exchange's yet.
 */
export async function readExchangeTime(
  db: Queryable,
  accounts?: readonly string[],
): Promise<EpochMs> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ now: string }>(sql`
      with last_plan as (
        select planned_at, planned_clock
        from streams
        where planned_at is not null
          and ${isOneOf(accounts)}
        order by planned_at desc
        limit 1
      )
      select
        extract(epoch from coalesce(
          -- Where the database's clock was set back since, its time may lie before the stored one.
          (select greatest(planned_at + (clock_timestamp() - planned_clock), planned_at) from last_plan),
          clock_timestamp()
        )) * 1000 as now`);
    return epochMs(Math.floor(Number(rows[0]?.now)));
  });
}
