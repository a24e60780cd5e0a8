import { type SQL, sql } from "drizzle-orm";
import type { ProductType } from "../contract/product-types.ts";
import { type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { walletOf } from "../db/sql/wallet.ts";
import type { Stream } from "../sync/store.ts";
import { expiresWithin, lostLatelyMs } from "./alerts.ts";

/**
 * Totals over all ledgers, read in a few queries however many ledgers there are: nobody reads a list of a
 * hundred thousand accounts. The few ledgers that are shown are read by `readStatus`.
 */
export type Fleet = {
  readonly totals: FleetTotals;
  /** The worst ledgers first: see {@link readFleet}. */
  readonly worst: readonly Stream[];
};

export type FleetTotals = {
  readonly accounts: number;
  readonly ledgers: number;
  readonly bills: number;
  /** How many ledgers syncs read: those neither retired nor closed, and not of a paused account. */
  readonly wanted: number;
  readonly retired: number;
  readonly closed: number;
  readonly paused: number;
  /** How many of the wanted ones are stale. */
  readonly stale: number;
  readonly expiring: number;
  /** How many of the wanted ones lack time that a run had planned to read. */
  readonly withGaps: number;
  /** How many have ever lost time; below, how many have within the last day. */
  readonly withLoss: number;
  readonly lostLately: number;
  /** How many have unresolved rows in rejected_bills; below, open breaks in their wallets. */
  readonly rejected: number;
  readonly broken: number;
  /** The time up to which every wanted ledger is complete; undefined where there is none. */
  readonly settledTo: EpochMs | undefined;
  /** The same for paused ledgers, whose time after this is lost first; undefined where none is paused. */
  readonly pausedSettledTo: EpochMs | undefined;
};

export type FleetScope = {
  readonly accounts?: readonly string[] | undefined;
  readonly productTypes?: readonly ProductType[] | undefined;
};

export type FleetOptions = FleetScope & {
  /** The exchange's time. */
  readonly now: EpochMs;
  readonly maxAgeMs: number;
  readonly limit: number;
  readonly offset?: number;
};

/** How many ledgers there are that a run has ever planned to read. */
export function countLedgers(db: Queryable, scope: FleetScope): Promise<number> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ ledgers: string }>(sql`
      select count(*) as ledgers
      from streams
      where ${isInScope(scope)}`);
    return Number(onlyRow(rows, "a count").ledgers);
  });
}

/** The accounts among these that have no ledger yet, and are neither retired nor paused. */
export function unreadAccounts(
  db: Queryable,
  accounts: readonly string[],
): Promise<readonly string[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{ account: string }>(sql`
      -- A distributed database refuses subqueries that refer to the rows of unnest.
      select account collate "C" as account
      from unnest(${textArray(accounts)}::text[]) as configured (account)
      except
      select account
      from streams
      where ${isOneOf(accounts)}
        and settled_to is not null
      except
      select account
      from stream_states
      where ${isOneOf(accounts)}
        and product_type = ''
        and coalesce(retired_at, paused_at) is not null
      order by account`);
    return rows.map(({ account }) => account);
  });
}

type FleetTime = "settledTo" | "pausedSettledTo";

type Row = Readonly<
  Record<Exclude<keyof FleetTotals, "accounts" | "bills" | FleetTime>, string> &
    Record<FleetTime, string | null>
>;

/**
 * The totals, and the worst ledgers first: those that lose time within a week, the soonest first; then
 * those with rejected rows, open breaks or fresh losses; then the others, those that are farthest from
 * complete first. Ledgers that are not wanted come last.
 */
export function readFleet(db: Queryable, options: FleetOptions): Promise<Fleet> {
  const { now, maxAgeMs, limit, offset = 0 } = options;
  const ago = (ms: number) => sql`${isoTime(epochMs(now - ms))}::timestamptz`;
  const isWrong = sql`(is_rejected or is_broken or lost_at >= ${ago(lostLatelyMs)})`;
  const isExpiring = sql`settled_to < ${ago(expiresWithin)}`;
  return withDatabaseErrors(async () => {
    // Two subqueries rather than one shared CTE, so that the server can use parallel workers.
    const { rows } = await db.execute<Row>(sql`
      select
        count(*) as ledgers,
        count(*) filter (where is_wanted) as wanted,
        count(*) filter (where is_retired) as retired,
        count(*) filter (where is_closed and not is_retired) as closed,
        count(*) filter (where is_paused) as paused,
        count(*) filter (where is_wanted and settled_to < ${ago(maxAgeMs)}) as stale,
        count(*) filter (where is_wanted and ${isExpiring}) as expiring,
        count(*) filter (where is_wanted and has_gaps) as "withGaps",
        count(*) filter (where has_loss) as "withLoss",
        count(*) filter (where lost_at >= ${ago(lostLatelyMs)}) as "lostLately",
        count(*) filter (where is_rejected) as rejected,
        count(*) filter (where is_broken) as broken,
        ${msOf(sql`min(settled_to) filter (where is_wanted)`)} as "settledTo",
        ${msOf(sql`min(settled_to) filter (where is_paused)`)} as "pausedSettledTo"
      from ${ledgers(options)}`);
    const { rows: worst } = await db.execute<Stream>(sql`
      select account, product_type as "productType"
      from ${ledgers(options)}
      order by
        not is_wanted,
        case when ${isExpiring} then 0 when ${isWrong} then 1 else 2 end,
        settled_to,
        account,
        product_type
      limit ${limit}
      offset ${offset}`);
    const { settledTo = null, pausedSettledTo = null, ...counts } = onlyRow(rows, "the totals");
    const numbers = Object.entries(counts).map(([name, count]) => [name, Number(count)]);
    const times = { settledTo: timeFrom(settledTo), pausedSettledTo: timeFrom(pausedSettledTo) };
    const sums = {
      accounts: await countAccounts(db, options),
      bills: await countBills(db, options),
    };
    return { totals: { ...Object.fromEntries(numbers), ...sums, ...times }, worst };
  });
}

async function countAccounts(db: Queryable, scope: FleetScope): Promise<number> {
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

async function countBills(db: Queryable, { accounts, productTypes }: FleetScope): Promise<number> {
  const { rows } = await db.execute<{ bills: string | null }>(sql`
    select sum(bills) as bills
    from streams
    where ${isOneOf(accounts)}
      and ${isOneOf(productTypes, "product_type")}`);
  return Number(onlyRow(rows, "a sum").bills ?? 0);
}

const isInScope = ({ accounts, productTypes }: FleetScope): SQL => sql`
          settled_to is not null
          and ${isOneOf(accounts)}
          and ${isOneOf(productTypes, "product_type")}`;

/** One row a ledger, with its states and its account's. Rare states are joined by hash. */
const ledgers = (scope: FleetScope): SQL => sql`
      (
        select
          account,
          product_type,
          settled_to,
          lost_at,
          is_retired,
          is_closed,
          is_paused and not is_retired and not is_closed as is_paused,
          not (is_retired or is_closed or is_paused) as is_wanted,
          has_gaps,
          has_loss,
          (account, product_type) in (
            select account, product_type
            from rejected_bills
            where resolved_at is null
              and ${isOneOf(scope.accounts)}
          ) as is_rejected,
          (account, ${walletOf("product_type")}) in (
            select account, ${walletOf("product_type")}
            from ledger_breaks
            where state = 'open'
              and ${isOneOf(scope.accounts)}
          ) as is_broken
        from (
          select
            account,
            product_type,
            settled_to,
            lost_at,
            lost <> '{}' as has_loss,
            settled_to < upper(covered + lost + open) as has_gaps,
            coalesce(own.retired_at, whole.retired_at) is not null as is_retired,
            own.closed_at is not null as is_closed,
            whole.paused_at is not null as is_paused
          from (
            select account, product_type, covered, lost, open, settled_to, lost_at
            from streams
            where ${isInScope(scope)}
          ) as own_times
          left join (
            select account, product_type, retired_at, closed_at
            from stream_states
            where coalesce(retired_at, closed_at) is not null
              and ${isOneOf(scope.accounts)}
          ) as own using (account, product_type)
          left join (
            select account, retired_at, paused_at
            from stream_states
            where product_type = ''
              and coalesce(retired_at, paused_at) is not null
              and ${isOneOf(scope.accounts)}
          ) as whole using (account)
        ) as stated
      ) as ledgers`;
