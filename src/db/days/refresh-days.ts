import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, isoTime, secondMs } from "../../contract/time.ts";
import {
  type Database,
  executeAtOnce,
  inTransactionAfter,
  type StatementLimit,
  type Transaction,
} from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { pauseHolder } from "../lease/lease.ts";
import { textArray } from "../sql/array-literal.ts";
import { isOneOf } from "../sql/one-of.ts";
import { productTypesOf } from "../sql/wallet.ts";
import { type DayTable, dayTables } from "./day-views.ts";
import { keepMeaning } from "./meaning-turns.ts";

/** A day of a wallet, or of all its coins; `day` as YYYY-MM-DD. */
export type WalletDay = { readonly account: string; readonly wallet: string; readonly day: string };

/** Which dirty days to store anew. */
export type DirtyScope = {
  readonly account: string;
  /** Only days that touch one of these times. Default all. */
  readonly within?: readonly { readonly from: EpochMs; readonly to: EpochMs }[];
};

export type Refreshed = {
  readonly days: number;
  /** Whether no dirty days were left over. */
  readonly isLast: boolean;
};

// The most that one transaction stores. A page waits for it: 32,000 bills take some 200 ms. A day
// is never divided.
//
// Days with few bills are stored many at a time: planning a transaction's statements takes as long
// as thousands of bills.
const daysMax = 256;
const billsMax = 32_000;

// Reconcile may hold the account for minutes: this transaction does not wait that long.
const lockMaxMs = secondMs;

/**
 * Stores some of an account's dirty days anew, oldest first. Its own transaction holds the account
 * as writers do. It stores none while another transaction changes the meaning of bills.
 * @throws if reconcile is at work, or the database fails. Nothing is lost: days that are not stored
 * are computed when they are read.
 */
export function refreshSomeDays(
  db: Database,
  scope: DirtyScope,
  check: (tx: Transaction) => Promise<unknown> = (tx) => pauseHolder(tx, scope.account),
): Promise<Refreshed> {
  return inTransactionAfter(
    db,
    // The statements run in this order, in one round trip.
    async (tx) => {
      const before = [check(tx), stopJit(tx), keepMeaning(tx, scope.account)];
      const dirty = readDirtyDays(tx, scope);
      await Promise.all([...before, dirty]);
      return dirty;
    },
    async (tx, { days, isLast }) => {
      if (days.length > 0) await storeDays(tx, scope.account, days);
      return { days: days.length, isLast };
    },
    { lockMaxMs },
  );
}

async function stopJit(tx: Transaction): Promise<void> {
  await tx.execute(sql`set local jit = off`);
}

type DirtyDays = { readonly days: readonly WalletDay[]; readonly isLast: boolean };

/** The dirty days that one transaction stores, and whether there are no others. */
async function readDirtyDays(tx: Transaction, { account, within }: DirtyScope): Promise<DirtyDays> {
  const touched = within?.map(
    ({ from, to }) => sql`day between (${isoTime(from)}::timestamptz at time zone 'UTC')::date
          and (${isoTime(to)}::timestamptz at time zone 'UTC')::date`,
  );
  const inTime = touched === undefined ? sql`true` : sql.join(touched, sql` or `);
  const { rows } = await tx.execute<WalletDay & { counted: number }>(sql`
    select account, wallet, to_char(day, 'YYYY-MM-DD') as day, count(*)::int as counted
    from (
      select marked.account, wallet, day, c_time
      from (
        select distinct account, wallet, day
        from dirty_days
        where account = ${account}
          and (${inTime})
        order by day, wallet
        limit ${daysMax}
      ) as marked
      left join lateral (
        select c_time
        from bills
        where bills.account = ${account}
          and bills.product_type = any(${productTypesOf("marked.wallet")})
          and bills.c_time >= marked.day::timestamp at time zone 'UTC'
          and bills.c_time < (marked.day + 1)::timestamp at time zone 'UTC'
        -- Day by day, so that no more are counted than are stored.
        offset 0
      ) as found on true
      limit ${billsMax}
    ) as counted
    group by account, wallet, day
    order by day, wallet`);
  // A day without bills counts as one, as it does for the limit.
  const counted = rows.reduce((sum, row) => sum + row.counted, 0);
  return { days: rows, isLast: rows.length < daysMax && counted < billsMax };
}

/** An account's days as rows (account, wallet, day). */
export const rowsOfDays = (account: string, days: readonly WalletDay[]): SQL => sql`
      select ${account}::text collate "C" as account, wallet, day
      from unnest(
        ${textArray(days.map(({ wallet }) => wallet))}::text[],
        ${textArray(days.map(({ day }) => day))}::date[]
      ) as given (wallet, day)`;

async function storeDays(
  tx: Transaction,
  account: string,
  days: readonly WalletDay[],
): Promise<void> {
  const given = rowsOfDays(account, days);
  await Promise.all([
    ...dayTables.map((table) => storeTable(tx, table, account, given)),
    tx.execute(sql`
      delete from dirty_days
      where account = ${account}
        and (account, wallet, day) in (${given})`),
  ]);
}

/**
 * Replaces a table's rows for the given days. A row that the day no longer has, such as one of a
 * coin that no bill names any more, is deleted.
 */
async function storeTable(
  tx: Transaction,
  { name, columns, computedOf, isByProductType }: DayTable,
  account: string,
  given: SQL,
): Promise<void> {
  const table = sql.identifier(name);
  const list = sql.raw(columns.join(", "));
  // Lets the index on product types find the days: years of contracts are many rows.
  const ofWallet = isByProductType
    ? sql`and stored.product_type = any(${productTypesOf("given.wallet")})`
    : sql``;
  await Promise.all([
    tx.execute(sql`
      delete from ${table} as stored
      using (${given}) as given
      where stored.account = ${account}
        and stored.wallet = given.wallet
        and stored.day = given.day
        ${ofWallet}`),
    // The name `dirty_days` means the given days here: a statement's own names hide tables.
    tx.execute(sql`
      with dirty_days as (${given})
      insert into ${table} (${list})
      select ${list}
      from (${computedOf(account)}) as computed`),
  ]);
}

/** More rounds than are ever needed. Days that others mark meanwhile are theirs to store. */
const roundsMax = 100_000;

/**
 * Stores all dirty days of a scope anew, some at a time. Stops silently on any error: days that are
 * not stored are computed when they are read, and the next run continues.
 */
export async function refreshDaysOf(
  refresh: (scope: DirtyScope) => Promise<Refreshed>,
  scope: DirtyScope,
  onStored: (days: number) => void = () => undefined,
): Promise<void> {
  try {
    for (let round = 0; round < roundsMax; round++) {
      const { days, isLast } = await refresh(scope);
      if (days > 0) onStored(days);
      if (isLast) return;
    }
  } catch {
    // The next page meets the same error and reports it.
  }
}

/** Progress of storing all days. */
export type DaysProgress = { readonly stored: number; readonly of: number };

/** The accounts whose dirty days to store, default all, and the limit of the query that finds them. */
export type DirtyAccounts = StatementLimit & {
  readonly accounts?: readonly string[] | undefined;
};

/** Stores the dirty days of all accounts anew, or of some. */
export async function refreshAllDays(
  db: Database,
  signal: AbortSignal,
  onProgress: (progress: DaysProgress) => void = () => undefined,
  scope: DirtyAccounts = {},
): Promise<void> {
  const accounts = await withDatabaseErrors(() => readDirtyAccounts(db, scope));
  const of = accounts.reduce((sum, { days }) => sum + days, 0);
  let stored = 0;
  const refresh = async (scope: DirtyScope): Promise<Refreshed> =>
    signal.aborted ? { days: 0, isLast: true } : await refreshSomeDays(db, scope);
  for (const { account } of accounts) {
    await refreshDaysOf(refresh, { account }, (days) => {
      stored += days;
      onProgress({ stored, of: Math.max(stored, of) });
    });
  }
}

async function readDirtyAccounts(
  db: Database,
  { accounts, ...limit }: DirtyAccounts,
): Promise<readonly { readonly account: string; readonly days: number }[]> {
  const marked = sql`
    select account, count(distinct (wallet, day))::int as days
    from dirty_days
    where ${isOneOf(accounts)}
    group by account
    order by account`;
  const { rows } = await executeAtOnce<{ account: string; days: number }>(db, marked, limit);
  return rows;
}
