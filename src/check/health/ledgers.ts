import { type SQL, sql } from "drizzle-orm";
import type { ProductType } from "../../core/contract/product-types.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import { isOneOf, msOf, onlyRow, timeFrom } from "../../core/postgres/values.ts";
import { ledgerState } from "../../core/store/known-time.ts";
import { openRejections } from "../../core/store/rejected-bills.ts";
import { accountFlags } from "../../core/views/ledgers.ts";
import type { Ledger } from "../../core/words/ledger.ts";
import type { EpochMs } from "../../lib/time.ts";

/**
 * Totals over all ledgers, in a few queries however many there are: nobody reads a list of a hundred thousand
 * accounts.
 */
export type Totals = {
  readonly accounts: number;
  readonly ledgers: number;
  readonly bills: number;
  /** How many ledgers syncs read, and how many they do not, by state. */
  readonly active: number;
  readonly retired: number;
  readonly ended: number;
  /** The first time that is neither read, lost nor recovered, of any active ledger; undefined where none is begun. */
  readonly readThrough: EpochMs | undefined;
};

const states = ["active", "retired", "ended"] as const;

type LedgerScope = {
  readonly accounts?: readonly string[] | undefined;
  readonly productTypes?: readonly ProductType[] | undefined;
};

export async function readTotals(db: Queryable, scope: LedgerScope): Promise<Totals> {
  const count = (state: string) =>
    sql`count(*) filter (where state = ${state})::float8 as ${sql.identifier(state)}`;
  const { rows } = await db.execute<
    Omit<Totals, "readThrough"> & { readThrough: string | null }
  >(sql`
    select
      count(*)::float8 as ledgers,
      count(distinct account)::float8 as accounts,
      ${sql.join(states.map(count), sql`, `)},
      ${msOf(sql`min(first_unread_at) filter (where state = 'active')`)} as "readThrough",
      (
        select coalesce(sum(bills), 0)::float8
        from ledgers
        where ${isOneOf(scope.accounts)}
          and ${isOneOf(scope.productTypes, "product_type")}
      ) as bills
    from ${ledgers(scope)}`);
  const totals = onlyRow(rows, "the totals");
  return { ...totals, readThrough: timeFrom(totals.readThrough) };
}

/** The ledgers that are farthest from complete first; those that no sync reads come last. */
export async function worstLedgers(
  db: Queryable,
  scope: LedgerScope & { readonly limit: number },
): Promise<readonly Ledger[]> {
  const { rows } = await db.execute<Ledger>(sql`
    select account, product_type as "productType"
    from ${ledgers(scope)}
    order by state <> 'active', first_unread_at, account, product_type
    limit ${scope.limit}`);
  return rows;
}

const isInScope = ({ accounts, productTypes }: LedgerScope): SQL => sql`
          first_unread_at is not null
          and ${isOneOf(accounts)}
          and ${isOneOf(productTypes, "product_type")}`;

/** One row a ledger, with whether it is read. */
const ledgers = (scope: LedgerScope): SQL => sql`
      (
        select account, product_type, first_unread_at, ${ledgerState} as state
        from (
          select account, product_type, first_unread_at, retired_at, ended_at
          from ledgers
          where ${isInScope(scope)}
        ) as stored
        left join ${accountFlags(isOneOf(scope.accounts))} using (account)
      ) as ledgers`;

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
  /** In USDT, as the collateral. */
  readonly owed: string | null;
  readonly collateral: string | null;
  readonly firstSeenAt: EpochMs;
  readonly lastSeenAt: EpochMs;
};

/** The stored lists, by name. */
export async function readLists(db: Queryable): Promise<readonly ListStatus[]> {
  const { rows } = await db.execute<Omit<ListStatus, "readAt"> & { readonly readAt: string }>(sql`
    select
      market as list,
      count(listed)::int as entries,
      count(gone_at)::int as gone,
      ${msOf(sql`read_at`)} as "readAt"
    from instrument_lists
    left join (
      select 'spot' as market, symbol as listed, gone_at
      from spot_pairs
      union all
      select product_type, symbol, gone_at
      from contracts
    ) as stored using (market)
    group by market
    order by market <> 'spot', market`);
  return rows.map((row) => ({ ...row, readAt: timeFrom(row.readAt) }));
}

/** The newest record of each risk unit. @param accounts default all. @param limit default none. */
export async function readLoans(
  db: Queryable,
  accounts?: readonly string[],
  limit: number | null = null,
): Promise<readonly LoanToValueStatus[]> {
  const { rows } = await db.execute<
    Record<"account" | "riskUnitId" | "firstSeenAt" | "lastSeenAt", string> &
      Record<"ltv" | "owed" | "collateral", string | null>
  >(sql`
    select distinct on (account, risk_unit_id)
      account,
      risk_unit_id as "riskUnitId",
      ltv::text,
      unpaid_usdt_amount::text as owed,
      usdt_balance::text as collateral,
      ${msOf(sql`first_seen_at`)} as "firstSeenAt",
      ${msOf(sql`last_seen_at`)} as "lastSeenAt"
    from ltv_snapshots
    where ${isOneOf(accounts)}
    order by account, risk_unit_id, first_seen_at desc
    limit ${limit}`);
  return rows.map(({ firstSeenAt, lastSeenAt, ...row }) => ({
    ...row,
    firstSeenAt: timeFrom(firstSeenAt),
    lastSeenAt: timeFrom(lastSeenAt),
  }));
}

/** How many open rejected rows a ledger has. */
export type RejectedCount = Ledger & { readonly rows: number };

/**
 * Counts open rows that broke the contract, in this run or an earlier one.
 * @param accounts default all.
 */
export async function countRejected(
  db: Queryable,
  accounts?: readonly string[],
): Promise<readonly RejectedCount[]> {
  const { rows } = await db.execute<RejectedCount>(sql`
    select account, product_type as "productType", rejected as rows
    from ${openRejections(accounts)} as found
    order by account, product_type`);
  return rows;
}
