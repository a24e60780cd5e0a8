import { sql } from "drizzle-orm";
import { dayMs, type EpochMs, epochMs } from "../../contract/time.ts";
import type { Transaction } from "../../db/connect.ts";
import { withDatabaseErrors } from "../../db/database-errors.ts";
import { textArray } from "../../db/sql/array-literal.ts";
import { msOf, timeFrom } from "../../db/sql/time-text.ts";
import type { Break } from "../../reconciliation/breaks.ts";

/** A bill near a break, and whether its balance follows from the bill before it. */
export type ChainedBill = {
  readonly billId: string;
  readonly time: EpochMs;
  readonly businessType: string;
  readonly symbol: string;
  readonly net: string;
  readonly balanceBefore: string | null;
  readonly balanceAfter: string | null;
  readonly difference: string | null;
  /** How many bills before this one are left out. */
  readonly leftOut: number;
};

// How many bills are shown before the last good bill, and after the first bad one.
const before = 2;
const after = 2;
// Of longer stretches between the two, this many bills at each end are shown.
const endMax = 5;
// Of bills farther apart, only the days of both ends are read.
const daysMax = 7;

/**
 * The bills from the last good one before a break to the first bad one, any of which may be wrong,
 * and a few around them. None if the break names no bill.
 * @param goodAt when the last good bill was booked.
 */
export async function readBreakBills(
  tx: Transaction,
  { account, productType, coin, happenedAt, firstBadBill, lastGoodBill }: Break,
  goodAt: EpochMs | undefined,
): Promise<readonly ChainedBill[]> {
  if (firstBadBill === null || happenedAt === null) return [];
  const badAt = epochMs(Date.parse(happenedAt));
  const { rows } = await withDatabaseErrors(() =>
    tx.execute<
      Omit<ChainedBill, "time" | "leftOut"> & { readonly ms: string; readonly place: string }
    >(sql`
      with chain as materialized (
        select
          bill_id,
          c_time,
          business_type,
          symbol,
          net,
          balance_before,
          balance_after,
          difference,
          position
        from analytics.activity
        where account = ${account}
          and wallet = ${productType}
          and coin = ${coin}
          and day = any(${textArray(daysFrom(goodAt ?? badAt, badAt))}::date[])
      ),
      ends as (
        select
          min(position) filter (where bill_id = ${firstBadBill}) as bad,
          min(position) filter (where bill_id = ${lastGoodBill}) as good
        from chain
      )
      select
        bill_id as "billId",
        ${msOf(sql`c_time`)} as ms,
        business_type as "businessType",
        coalesce(symbol, '') as symbol,
        net::text,
        balance_before::text as "balanceBefore",
        balance_after::text as "balanceAfter",
        difference::text,
        position::text as place
      from chain
      cross join ends
      where position between coalesce(good, bad - 1) - ${before} and bad + ${after}
        and (position <= good + ${endMax} or position >= bad - ${endMax})
      order by position`),
  );
  return rows.map(({ ms, place, ...bill }, index) => ({
    ...bill,
    time: timeFrom(ms),
    leftOut: index === 0 ? 0 : Number(place) - Number(rows[index - 1]?.place) - 1,
  }));
}

/** When the last good bill of each of these breaks was booked, by the breaks' numbers. */
export async function readLastGoodTimes(
  tx: Transaction,
  breaks: readonly Break[],
): Promise<ReadonlyMap<number, EpochMs>> {
  const { rows } = await withDatabaseErrors(() =>
    tx.execute<{ breakId: string; ms: string }>(sql`
      select
        break_id::text as "breakId",
        ${msOf(sql`c_time`)} as ms
      from ledger_breaks
      join bills
        on bills.account = ledger_breaks.account
        and bills.product_type = coalesce(last_good_product_type, ledger_breaks.product_type)
        and bills.bill_id = last_good_bill
      where break_id = any(${textArray(breaks.map(({ breakId }) => String(breakId)))}::bigint[])
        and ledger_breaks.account = any(${textArray([...new Set(breaks.map(({ account }) => account))])})`),
  );
  return new Map(rows.map(({ breakId, ms }) => [Number(breakId), timeFrom(ms)]));
}

const dayOf = (time: EpochMs): string => new Date(time).toISOString().slice(0, 10);

/** The days between two times, both included; of many only the first and the last. */
function daysFrom(from: EpochMs, to: EpochMs): readonly string[] {
  const count = Math.round((Date.parse(dayOf(to)) - Date.parse(dayOf(from))) / dayMs);
  if (count > daysMax) return [dayOf(from), dayOf(to)];
  return Array.from({ length: Math.max(0, count) + 1 }, (_, index) =>
    dayOf(epochMs(to - index * dayMs)),
  );
}
