import { type SQL, sql } from "drizzle-orm";
import { frequentTypes } from "../contract/business-types.ts";
import { mayContainFeeText } from "./wallet-moves.ts";

/*
 * How views find and add up the bills of a time: through the index bills_chain, whose columns after the coin are whether
 * a bill shows no balance, its UTC day, and its time. So the last balance before a time is one look-up, and sums read no table.
 */

/** As the index bills_rare has it. */
export const frequentTypesArray: SQL = sql.raw(
  `array[${frequentTypes.map((code) => `'${code}'`).join(", ")}]`,
);

/** A bill's UTC day. @param alias of the bills. */
export const dayOf = (alias: string): SQL => sql.raw(`(${alias}.c_time at time zone 'UTC')::date`);

/** Whether a bill shows a balance, or shows none: of a coin's bills of a time, both are asked for, as the index has them. */
export const withBalance = (alias: string): SQL => sql.raw(`num_nulls(${alias}.balance) = 0`);
export const withoutBalance = (alias: string): SQL => sql.raw(`num_nulls(${alias}.balance) = 1`);
export const withAnyBalance = (alias: string): SQL =>
  sql.raw(`num_nulls(${alias}.balance) = any('{0,1}')`);

const ofChains = {
  account: sql`chains.account`,
  productTypes: sql`chains.product_types`,
  coin: sql`chains.coin`,
};

/**
 * The day and the time of the nearest bill of a chain that shows a balance: of each product type one look-up.
 * @param direction desc for the last such bill, asc for the first one.
 * @param isNear says which bills, by `bills.c_time` and its day.
 * @param chain default a row of `chains`.
 */
export const nearestShown = (direction: SQL, isNear: SQL, chain = ofChains): SQL => sql`
        select nearest.day, nearest.c_time
        from unnest(${chain.productTypes}) as types (product_type)
        cross join lateral (${shownOfType(direction, isNear, chain, sql`1`)}
        ) as nearest
        order by nearest.c_time ${direction}
        limit 1`;

const shownOfType = (
  direction: SQL,
  isNear: SQL,
  { account, coin }: typeof ofChains,
  count: SQL,
): SQL => sql`
          select ${dayOf("bills")} as day, bills.c_time
          from bills
          where bills.account = ${account}
            and bills.product_type = types.product_type
            and bills.coin = ${coin}
            and ${withBalance("bills")}
            and ${isNear}
          order by 1 ${direction}, bills.c_time ${direction}
          limit ${count}`;

// Of a chain that shows no balance every few seconds, more would be read for each day.
const lookedAtMax = sql`100`;

/**
 * The same of a row of `chains`, but rather one beside which no bill shows none: among those, nothing tells which balance is
 * the last. Where each of the nearest of a product type is beside one, the nearest.
 * @param isBeside whether the bill `bills` may have changed places with one of the time `near.c_time`.
 */
export const nearestCertain = (
  direction: SQL,
  isNear: SQL,
  { isBeside, isNearer }: { readonly isBeside: SQL; readonly isNearer: SQL },
): SQL => sql`
        select day, c_time
        from (
          select 1 as choice, certain.day, certain.c_time
          from (
            select near.day, near.c_time
            from unnest(${ofChains.productTypes}) as types (product_type)
            cross join lateral (
              select near.day, near.c_time
              from (${shownOfType(direction, isNear, ofChains, lookedAtMax)}
              ) as near
              where not exists (
                select 1
                from bills
                where bills.account = ${ofChains.account}
                  and bills.product_type = any(${ofChains.productTypes})
                  and bills.coin = ${ofChains.coin}
                  and ${withoutBalance("bills")}
                  and ${dayOf("bills")} = near.day
                  and ${isBeside}
              )
              order by near.day ${direction}, near.c_time ${direction}
              limit 1
            ) as near
            order by near.day ${direction}, near.c_time ${direction}
            limit 1
          ) as certain
          -- That of a product type with few bills may be months away.
          where not exists (
            select 1
            from unnest(${ofChains.productTypes}) as types (product_type)
            cross join lateral (${shownOfType(direction, sql`${isNear} and ${isNearer}`, ofChains, sql`1 offset ${lookedAtMax}`)}
            ) as nearer
          )
          union all
          select 2, nearest.day, nearest.c_time
          from (${nearestShown(direction, isNear)}
          ) as nearest
        ) as chosen
        order by choice, c_time ${direction}
        limit 1`;

/** The sums of some bills of one product type and business type that `walletSums` reads, by sign. @param alias of the bills. */
export function billSums(alias: string): SQL {
  const [amount, fee, coupon] = ["amount", "fee", "fee_by_coupon"].map(
    (name) => `${alias}.${name}`,
  );
  const gross = `(${amount} - ${fee})`;
  const sum = (text: string, sign: "<" | ">", condition = "") =>
    `coalesce(sum(${text}) filter (where ${condition}${text} ${sign} 0), 0)`;
  // What amounts are without a fee that they contain.
  const isContained = `${mayContainFeeText(`${alias}.product_type`)} and `;
  const columns = [
    `${sum(`${amount}`, ">")} as amount_in`,
    `${sum(`${amount}`, "<")} as amount_out`,
    `${sum(gross, ">", isContained)} as gross_in`,
    `${sum(gross, "<", isContained)} as gross_out`,
    `${sum(`${fee}`, ">")} as fee_in`,
    `${sum(`${fee}`, "<")} as fee_out`,
    // Without the filter it is called for each bill, most of which have none.
    `coalesce(sum(${coupon}) filter (where ${coupon} is not null), 0) as coupon`,
  ];
  return sql.raw(columns.join(",\n        "));
}
