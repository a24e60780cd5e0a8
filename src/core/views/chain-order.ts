import { type SQL, sql } from "drizzle-orm";
import { bookedMaxMs } from "../../lib/time.ts";

/**
 * Joins bills to their learned order.
 * @param alias of the bills.
 * @param account to which all bills belong, as for `joinRules`.
 */
export function joinOrder(alias: string, account?: string): SQL {
  const bills = sql.raw(alias);
  return sql`
      left join bill_order
        on bill_order.account = ${account ?? sql`${bills}.account`}
        and bill_order.product_type = ${bills}.product_type
        and bill_order.bill_id = ${bills}.bill_id`;
}

/**
 * The list that sorts a chain's bills as they moved its balance, or compares their places as rows. This is its only
 * definition, for views, exports and reconcile. It needs `bill_order`, see {@link joinOrder}. A bill is
 * sorted by its time, or by the later one that its balance shows. Ids are compared as numbers, by
 * length first, since they may have more digits than a bigint.
 *
 * @param alias of the bills; none where the columns of `bill_order` are theirs.
 */
export function chainOrder(alias?: string): SQL {
  const [bills, order] = alias === undefined ? ["", ""] : [`${alias}.`, "bill_order."];
  return placeOf(
    bills,
    `greatest(${bills}c_time, ${order}booked_at)`,
    `coalesce(${order}place, 0)`,
  );
}

/** The place of a bill that was joined to its order: columns `booked_at`, `place`, `product_type` and `bill_id`. */
export const endPlace = (end: string): SQL =>
  placeOf(`${end}.`, `${end}.booked_at`, `${end}.place`);

const placeOf = (bill: string, bookedAt: string, place: string): SQL =>
  sql.raw(`${bookedAt}, ${place}, length(${bill}bill_id), ${bill}bill_id, ${bill}product_type`);

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
