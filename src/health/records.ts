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
  return withDatabaseErrors(async () => ({
    symbols: await readSymbols(db),
    contracts: await readContracts(db),
    loanToValue: await readLoanToValue(db, accounts),
  }));
}

async function readSymbols(db: Queryable): Promise<SymbolsStatus | undefined> {
  const { rows } = await db.execute<{ pairs: number; gone: number; read_at: string }>(sql`
    select
      (select count(*)::int from symbols) as pairs,
      (select count(*)::int from symbols where gone_at is not null) as gone,
      ${msOf(sql`read_at`)} as read_at
    from symbol_lists
    where market = 'spot'`);
  const [row] = rows;
  if (row === undefined) return undefined;
  return { pairs: row.pairs, gone: row.gone, readAt: timeFrom(row.read_at) };
}

async function readContracts(db: Queryable): Promise<readonly ContractsStatus[]> {
  const { rows } = await db.execute<{
    market: string;
    pairs: number;
    gone: number;
    read_at: string;
  }>(sql`
    select
      market,
      count(symbol)::int as pairs,
      count(gone_at)::int as gone,
      ${msOf(sql`read_at`)} as read_at
    from symbol_lists
    left join contracts on product_type = market
    where market <> 'spot'
    group by market
    order by market`);
  return rows.map(({ market, pairs, gone, read_at }) => ({
    productType: market,
    pairs,
    gone,
    readAt: timeFrom(read_at),
  }));
}

async function readLoanToValue(
  db: Queryable,
  accounts: readonly string[] | undefined,
): Promise<readonly LoanToValueStatus[]> {
  const { rows } = await db.execute<{
    account: string;
    risk_unit_id: string;
    ltv: string | null;
    taken_at: string;
    held_until: string;
  }>(sql`
    select distinct on (account, risk_unit_id)
      account,
      risk_unit_id,
      ltv::text,
      ${msOf(sql`taken_at`)} as taken_at,
      ${msOf(sql`held_until`)} as held_until
    from ltv_snapshots
    where ${isOneOf(accounts)}
    order by account, risk_unit_id, taken_at desc`);
  return rows.map((row) => ({
    account: row.account,
    riskUnitId: row.risk_unit_id === "" ? undefined : row.risk_unit_id,
    ltv: row.ltv,
    takenAt: timeFrom(row.taken_at),
    heldUntil: timeFrom(row.held_until),
  }));
}
