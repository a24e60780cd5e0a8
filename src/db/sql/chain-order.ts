import { type SQL, sql } from "drizzle-orm";
import { unifiedBookedMaxMs } from "../../contract/time.ts";

/**
 * Joins bills to what was learned of their order.
 * @param alias that of the bills.
 * @param account the one that all of them are of, as for `joinRules`.
 */
export function joinOrder(alias: string, account?: string): SQL {
  const bills = sql.raw(alias);
  return sql`
      left join bill_order
        on bill_order.account = ${account ?? sql`${bills}.account`}
        and bill_order.product_type = ${bills}.product_type
        and bill_order.bill_id = ${bills}.bill_id`;
}

type Direction = "asc" | "desc";

/**
 * The order in which the bills of a chain moved its balance, to be sorted by: the one definition of
 * it, for views and exports as for reconcile. It needs `bill_order`, see {@link joinOrder}. A bill
 * goes by its time, or by the later one that its balance shows; an id is compared as a number, which
 * is by length first: it may have more digits than a bigint.
 *
 * @param alias that of the bills; none where their columns are joined by name.
 */
export function chainOrderText(alias?: string, direction: Direction = "asc"): string {
  const bills = alias === undefined ? "" : `${alias}.`;
  return [`greatest(${bills}c_time, booked_at)`, "coalesce(place, 0)", ...lastOrderOf(bills)]
    .map((column) => `${column} ${direction}`)
    .join(", ");
}

export const chainOrder = (alias: string, direction?: Direction): SQL =>
  sql.raw(chainOrderText(alias, direction));

/** The same where nothing was learned: no bill needs to be looked up. */
export const unlearnedOrder = (alias: string): SQL =>
  sql.raw([`${alias}.c_time`, ...lastOrderOf(`${alias}.`)].join(", "));

const lastOrderOf = (bills: string) => [
  `length(${bills}bill_id)`,
  `${bills}bill_id`,
  `${bills}product_type`,
];

/**
 * How long after its time a bill may be booked, as an interval.
 * @param column a product type, or a wallet.
 */
export const bookedMaxOf = (column: string): SQL =>
  sql.raw(
    `(case when ${column} like 'UTA%' then interval '${unifiedBookedMaxMs} milliseconds' else interval '0' end)`,
  );
