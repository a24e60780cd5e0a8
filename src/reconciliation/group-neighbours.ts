import { type SQL, sql } from "drizzle-orm";
import { chainOrder, joinOrder } from "../db/sql/chain-order.ts";
import { productTypesOf } from "../db/sql/wallet.ts";
import { joinRules, walletMoves } from "../db/sql/wallet-moves.ts";

// Where more bills than this before or after a group have no balance, its start or end is unknown.
const neighboursMax = 16;

/**
 * The balance before or after each group of `off_groups`, computed from the nearest served balance and the
 * bills up to it; null where none is near.
 */
export function neighbour(account: string, side: "before" | "after"): SQL {
  const isBefore = side === "before";
  const direction = isBefore ? "desc" : "asc";
  const counted = isBefore ? sql`coalesce(balance, moved)` : sql`coalesce(balance, 0) - moved`;
  return sql`
      select
        case
          when bool_or(balance is not null)
          then sum(${counted}) filter (where shown = 0 or (shown = 1 and balance is not null))
        end as balance
      from (
        select
          balance,
          ${walletMoves("nearest").moved} as moved,
          count(balance) over (
            order by ${chainOrder("nearest", direction)}
            rows unbounded preceding
          ) as shown
        from (
          select near.*
          from (${billsBeside(account, side)}) as near
          order by ${chainOrder("near", direction)}
          limit ${neighboursMax}
        ) as nearest
        ${joinRules("nearest", account)}
      ) as counted`;
}

/** The nearest bills of each product type by their times, and bills that were booked after their time. */
function billsBeside(account: string, side: "before" | "after"): SQL {
  const isBefore = side === "before";
  const columns = sql`
                product_type, bill_id, c_time, business_type, amount, fee, fee_by_coupon, balance,
                place, booked_at`;
  const isBeside = (bills: string) => sql`
              ${sql.raw(bills)}.account = ${account}
              and ${sql.raw(bills)}.coin = off_groups.coin
              and c_time ${isBefore ? sql`< from_time` : sql`> to_time`}`;
  // Sorted by time first, an order that the index provides.
  const nearestFirst = sql`
              c_time ${sql.raw(isBefore ? "desc" : "asc")},
              ${chainOrder("bills", isBefore ? "desc" : "asc")}`;
  return sql`
            select off_groups.account, bills.*
            from unnest(${productTypesOf("off_groups.wallet")}) as member
            cross join lateral (
              select
                bills.product_type, bills.bill_id, c_time, business_type, amount, fee,
                fee_by_coupon, balance, place, booked_at
              from bills
              ${joinOrder("bills", account)}
              where ${isBeside("bills")}
                and bills.product_type = member
                and booked_at is null
              order by ${nearestFirst}
              limit ${neighboursMax}
            ) as bills
            union all
            select account, ${columns}
            from late_bills
            where ${isBeside("late_bills")}
              and late_bills.wallet = off_groups.wallet`;
}
