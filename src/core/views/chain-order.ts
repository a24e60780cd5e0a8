import { type SQL, sql } from "drizzle-orm";
import { bookedMaxMs } from "../../lib/time.ts";

/**
 * The list that sorts a chain's bills, or compares their places as rows: by time, and within a millisecond by id. This is
 * its only definition, for views and exports. Ids are compared as numbers, by length first, since they may have more
 * digits than a bigint.
 *
 * Bills may have moved the balance in another order: those of one millisecond, whose ids need not tell, and in a unified
 * account those of some seconds. So what is said of a balance depends on no order: see src/check/reconcile/trails.ts.
 *
 * @param alias of the bills.
 */
export function chainOrder(alias?: string): SQL {
  const bill = alias === undefined ? "" : `${alias}.`;
  return sql.raw(`${bill}c_time, length(${bill}bill_id), ${bill}bill_id, ${bill}product_type`);
}

/**
 * How long after its time a bill may be booked, as an interval.
 * @param column a product type, or a wallet.
 */
export const bookedMaxOf = (column: string): SQL =>
  sql.raw(
    `(case when ${column} ~ '^(UTA|SPOT)' then interval '${bookedMaxMs} milliseconds' else interval '0' end)`,
  );

/**
 * Whether a bill's id tells another time than the bill's. An id's upper bits are the milliseconds since
 * 1 July 2015, 04:45:20.677 UTC. An id is compared as text, since it may be no number; ids since
 * 19 January 2023 have 19 digits. A unified account's funding is dated by when it was due, and its id by
 * when it was booked, a second or two later: so an id's time may be up to a minute after the bill's.
 * @param bills the alias of the bills.
 */
export function isIdOddText(bills: string): string {
  const ms = `((date_part('epoch', ${bills}.c_time) * 1000)::bigint - 1435725920677)`;
  return `(
    octet_length(${bills}.bill_id) <> case
      when ${bills}.c_time >= timestamptz '2023-01-19T16:08:19.779Z' then 19
      else octet_length((${ms} << 22)::text)
    end
    or ${bills}.bill_id not between
      (${ms} - case when ${bills}.source is null then 0 else 1 end << 22)::text
      and ((
        ${ms} + case
          when ${bills}.product_type ~ '^(UTA|SPOT)' then 60000
          -- Those of tax records were a millisecond off.
          when ${bills}.source is null then 0
          else 1
        end << 22
      ) + 4194303)::text
  )`;
}
