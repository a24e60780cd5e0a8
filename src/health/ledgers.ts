import { type SQL, sql } from "drizzle-orm";
import type { ProductType } from "../contract/product-types.ts";
import type { EpochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { accountFlags } from "../db/sql/is-demo.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import type { Stream } from "../sync/store.ts";

/**
 * Totals over all ledgers, in a few queries however many there are: nobody reads a list of a hundred thousand
 * accounts.
 */
export type Totals = {
  readonly accounts: number;
  readonly ledgers: number;
  readonly bills: number;
  /** How many ledgers syncs read, and how many they do not, by why. */
  readonly read: number;
  readonly paused: number;
  readonly retired: number;
  readonly closed: number;
  /** The time up to which every ledger is complete that is read; undefined where none is. */
  readonly settledTo: EpochMs | undefined;
  /** The same for paused ledgers, whose time after this is lost first; undefined where none is paused. */
  readonly pausedSettledTo: EpochMs | undefined;
};

export type LedgerScope = {
  readonly accounts?: readonly string[] | undefined;
  readonly productTypes?: readonly ProductType[] | undefined;
};

/** How many ledgers there are that a run has ever planned to read. */
export function countLedgers(db: Queryable, scope: LedgerScope): Promise<number> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ ledgers: string }>(sql`
      select count(*) as ledgers
      from streams
      where ${isInScope(scope)}`);
    return Number(onlyRow(rows, "a count").ledgers);
  });
}

export function readTotals(db: Queryable, scope: LedgerScope): Promise<Totals> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<
      Record<"ledgers" | "read" | "paused" | "retired" | "closed", string> &
        Record<"settledTo" | "pausedSettledTo", string | null>
    >(sql`
      select
        count(*) as ledgers,
        count(*) filter (where is_read) as read,
        count(*) filter (where is_paused) as paused,
        count(*) filter (where is_retired) as retired,
        count(*) filter (where is_closed and not is_retired) as closed,
        ${msOf(sql`min(settled_to) filter (where is_read)`)} as "settledTo",
        ${msOf(sql`min(settled_to) filter (where is_paused)`)} as "pausedSettledTo"
      from ${ledgers(scope)}`);
    const row = onlyRow(rows, "the totals");
    return {
      accounts: await countAccounts(db, scope),
      ledgers: Number(row.ledgers),
      bills: await countBills(db, scope),
      read: Number(row.read),
      paused: Number(row.paused),
      retired: Number(row.retired),
      closed: Number(row.closed),
      settledTo: timeFrom(row.settledTo),
      pausedSettledTo: timeFrom(row.pausedSettledTo),
    };
  });
}

/** The ledgers that are farthest from complete first; those that no sync reads come last. */
export function worstLedgers(
  db: Queryable,
  scope: LedgerScope & { readonly limit: number; readonly offset?: number },
): Promise<readonly Stream[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<Stream>(sql`
      select account, product_type as "productType"
      from ${ledgers(scope)}
      order by not is_read, settled_to, account, product_type
      limit ${scope.limit}
      offset ${scope.offset ?? 0}`);
    return rows;
  });
}

async function countAccounts(db: Queryable, scope: LedgerScope): Promise<number> {
  const { rows } = await db.execute<{ accounts: string }>(sql`
    select count(*) as accounts
    from (
      select account
      from streams
      where ${isInScope(scope)}
      group by account
    ) as own`);
  return Number(onlyRow(rows, "a count").accounts);
}

async function countBills(db: Queryable, { accounts, productTypes }: LedgerScope): Promise<number> {
  const { rows } = await db.execute<{ bills: string | null }>(sql`
    select sum(bills) as bills
    from streams
    where ${isOneOf(accounts)}
      and ${isOneOf(productTypes, "product_type")}`);
  return Number(onlyRow(rows, "a sum").bills ?? 0);
}

const isInScope = ({ accounts, productTypes }: LedgerScope): SQL => sql`
          settled_to is not null
          and ${isOneOf(accounts)}
          and ${isOneOf(productTypes, "product_type")}`;

/** One row a ledger, with its states and its account's. */
const ledgers = (scope: LedgerScope): SQL => sql`
      (
        select
          account,
          product_type,
          settled_to,
          is_retired,
          is_closed,
          is_paused and not is_retired and not is_closed as is_paused,
          not (is_retired or is_closed or is_paused) as is_read
        from (
          select
            account,
            product_type,
            settled_to,
            own.retired_at is not null or coalesce(whole.is_retired, false) as is_retired,
            own.closed_at is not null as is_closed,
            coalesce(whole.is_paused, false) as is_paused
          from (
            select account, product_type, settled_to, retired_at, closed_at
            from streams
            where ${isInScope(scope)}
          ) as own
          left join ${accountFlags(isOneOf(scope.accounts))} using (account)
        ) as stated
      ) as ledgers`;
