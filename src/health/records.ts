import { sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";

/** The stored list of spot pairs. */
export type SymbolsStatus = {
  readonly pairs: number;
  /** How many of them are no longer listed. */
  readonly gone: number;
  /** When the newest list was read. */
  readonly readAt: EpochMs;
};

/** The newest record of a risk unit. */
export type LoanToValueStatus = {
  readonly account: string;
  /** Undefined for the account's own unit. */
  readonly riskUnitId: string | undefined;
  readonly ltv: string | null;
  readonly takenAt: EpochMs;
  readonly heldUntil: EpochMs;
};

/** The stored list of a product type's contracts. */
export type ContractsStatus = SymbolsStatus & { readonly productType: string };

export type RecordsStatus = {
  /** Undefined before the first list. */
  readonly symbols: SymbolsStatus | undefined;
  /** One a product type whose list was read. */
  readonly contracts: readonly ContractsStatus[];
  readonly loanToValue: readonly LoanToValueStatus[];
};

/**
 * The state of the stored symbols and loan-to-value records. Sends the exchange no request.
 * @param accounts whose loan-to-value. Default all.
 */
export async function readRecords(
  db: Queryable,
  accounts?: readonly string[],
): Promise<RecordsStatus> {
  return withDatabaseErrors(async () => {
    const lists = await readLists(db);
    const [symbols] = lists.filter(({ productType }) => productType === "spot");
    const { productType: _, ...pairs } = symbols ?? {};
    return {
      symbols: symbols && (pairs as SymbolsStatus),
      contracts: lists.filter(({ productType }) => productType !== "spot"),
      loanToValue: await readLoanToValue(db, accounts),
    };
  });
}

/** The stored lists, that of the pairs under the name `spot`. */
async function readLists(db: Queryable): Promise<readonly ContractsStatus[]> {
  const { rows } = await db.execute<
    Omit<ContractsStatus, "readAt"> & { readonly readAt: string }
  >(sql`
    select
      market as "productType",
      count(listed)::int as pairs,
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
    order by market`);
  return rows.map((row) => ({ ...row, readAt: timeFrom(row.readAt) }));
}

async function readLoanToValue(
  db: Queryable,
  accounts: readonly string[] | undefined,
): Promise<readonly LoanToValueStatus[]> {
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
  return rows.map(({ riskUnitId, takenAt, heldUntil, ...row }) => ({
    ...row,
    riskUnitId: riskUnitId === "" ? undefined : riskUnitId,
    takenAt: timeFrom(takenAt),
    heldUntil: timeFrom(heldUntil),
  }));
}
