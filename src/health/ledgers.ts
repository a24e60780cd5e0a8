import { type SQL, sql } from "drizzle-orm";
import type { ProductType } from "../contract/product-types.ts";
import { type EpochMs, epochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { ledgerTimes } from "../ledger/ledger-times.ts";
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

const states = ["read", "paused", "retired", "closed"] as const;
type State = (typeof states)[number];

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
    const count = (state: string) =>
      sql`count(*) filter (where state = ${state}) as ${sql.identifier(state)}`;
    const settledTo = (state: string) => msOf(sql`min(settled_to) filter (where state = ${state})`);
    const { rows } = await db.execute<
      Record<"accounts" | "ledgers" | "bills" | State, string> &
        Record<"settledTo" | "pausedSettledTo", string | null>
    >(sql`
      select *
      from (
        select
          count(*) as ledgers,
          ${sql.join(states.map(count), sql`, `)},
          ${settledTo("read")} as "settledTo",
          ${settledTo("paused")} as "pausedSettledTo"
        from ${ledgers(scope)}
      ) as counted
      -- Beside the other counts, and not among them: distributed Postgres refuses that.
      cross join (
        select count(*) as accounts
        from (
          select account
          from streams
          where ${isInScope(scope)}
          group by account
        ) as names
      ) as named
      cross join (
        select coalesce(sum(bills), 0) as bills
        from streams
        where ${isOneOf(scope.accounts)}
          and ${isOneOf(scope.productTypes, "product_type")}
      ) as stored`);
    const { settledTo: through, pausedSettledTo, ...counts } = onlyRow(rows, "the totals");
    return {
      ...(Object.fromEntries(
        Object.entries(counts).map(([name, value]) => [name, Number(value)]),
      ) as Record<keyof typeof counts, number>),
      settledTo: timeFrom(through),
      pausedSettledTo: timeFrom(pausedSettledTo),
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
      order by state <> 'read', settled_to, account, product_type
      limit ${scope.limit}
      offset ${scope.offset ?? 0}`);
    return rows;
  });
}

const isInScope = ({ accounts, productTypes }: LedgerScope): SQL => sql`
          settled_to is not null
          and ${isOneOf(accounts)}
          and ${isOneOf(productTypes, "product_type")}`;

/** One row a ledger, with whether it is read. */
const ledgers = (scope: LedgerScope): SQL => sql`
      (
        select account, product_type, settled_to, state
        from (
          select account, ledger as product_type, settled_to, state
          from ${ledgerTimes({ accounts: scope.accounts, now: epochMs(0) })}
        ) as stored
        where ${isOneOf(scope.productTypes, "product_type")}
      ) as ledgers`;
