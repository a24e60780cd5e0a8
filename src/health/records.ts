import { sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";

/** A stored list: the spot pairs, or the contracts of a product type. */
export type ListStatus = {
  /** "spot", or the product type. */
  readonly list: string;
  readonly entries: number;
  /** How many of them the exchange no longer lists. */
  readonly gone: number;
  readonly readAt: EpochMs;
};

/** The newest record of a risk unit. */
export type LoanToValueStatus = {
  readonly account: string;
  /** Empty for the account's own unit. */
  readonly riskUnitId: string;
  readonly ltv: string | null;
  readonly takenAt: EpochMs;
  readonly heldUntil: EpochMs;
};

/** The stored lists, by name. */
export const readLists = (db: Queryable): Promise<readonly ListStatus[]> =>
  withDatabaseErrors(async () => {
    const { rows } = await db.execute<Omit<ListStatus, "readAt"> & { readonly readAt: string }>(sql`
      select
        market as list,
        count(listed)::int as entries,
        count(gone_at)::int as gone,
        ${msOf(sql`read_at`)} as "readAt"
      from symbol_lists
      left join (
        select 'spot' as market, symbol as listed, gone_at
        from symbols
        union all
        select product_type, symbol, gone_at
        from contracts
      ) as stored using (market)
      group by market
      order by market <> 'spot', market`);
    return rows.map((row) => ({ ...row, readAt: timeFrom(row.readAt) }));
  });

/** @param accounts default all. */
export const readLoans = (
  db: Queryable,
  accounts?: readonly string[],
): Promise<readonly LoanToValueStatus[]> =>
  withDatabaseErrors(async () => {
    const { rows } = await db.execute<
      Record<"account" | "riskUnitId" | "takenAt" | "heldUntil", string> & { ltv: string | null }
    >(sql`
      select distinct on (account, risk_unit_id)
        account,
        risk_unit_id as "riskUnitId",
        ltv::text,
        ${msOf(sql`taken_at`)} as "takenAt",
        ${msOf(sql`held_until`)} as "heldUntil"
      from ltv_snapshots
      where ${isOneOf(accounts)}
      order by account, risk_unit_id, taken_at desc`);
    return rows.map(({ takenAt, heldUntil, ...row }) => ({
      ...row,
      takenAt: timeFrom(takenAt),
      heldUntil: timeFrom(heldUntil),
    }));
  });
