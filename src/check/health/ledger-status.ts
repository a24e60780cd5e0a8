import { type SQL, sql } from "drizzle-orm";
import { endedSince } from "../../accounts/roster.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import {
  type IntervalsJson,
  intervalsFrom,
  intervalsOf,
  isOneOf,
  msOf,
  timeFrom,
  timeOf,
} from "../../core/postgres/values.ts";
import { readAccountStates, retiredSince } from "../../core/store/accounts/account-states.ts";
import {
  accountsOf,
  groupByLedger,
  ledgerTimes,
  readExchangeTime,
  wantedLedgers,
} from "../../core/store/known-time.ts";
import { openRejections } from "../../core/store/rejected-bills.ts";
import type { AccountState } from "../../core/words/account-state.ts";
import { type Interval, interval } from "../../core/words/intervals.ts";
import type { Ledger } from "../../core/words/ledger.ts";
import { horizonAt, startSlackMs } from "../../core/words/plan.ts";
import { type EpochMs, retentionMs } from "../../lib/time.ts";
import { type LoggedRun, readLastSync } from "./runs.ts";

/** A ledger's time, sorted by how well it is known. No two of the lists overlap. */
type LedgerTimes = {
  /** The first time that is neither read, lost nor recovered; undefined before the first complete window. */
  readonly readThrough: EpochMs | undefined;
  /** Proven complete. */
  readonly coverage: readonly Interval[];
  /** Read and stored, in windows that were not read to their end: not complete yet; of an ended ledger, unread. */
  readonly unfinished: readonly Interval[];
  /** Time that was planned, or came before the ledger's end, and was not read. Of a retired ledger, too. */
  readonly unread: readonly Interval[];
  /** Recovered from tax records. */
  readonly recovered: readonly Interval[];
  /** Time that a run found lost, and nobody accepted. */
  readonly openLost: readonly Interval[];
};

export type LedgerStatus = LedgerTimes & {
  readonly ledger: Ledger;
  readonly bills: number;
  /** Rejected rows that were neither served as documented since nor accepted. */
  readonly openRejected: number;
  /** Since when it is no longer synced. */
  readonly retiredAt: EpochMs | undefined;
  /** Since when its account is in the other mode, so that its unread time cannot be read. */
  readonly endedAt: EpochMs | undefined;
  /** When the exchange begins to delete its unread bills; undefined if nothing was read, or will be. */
  readonly expiresAt: EpochMs | undefined;
};

/** An account as the exchange described it to past runs. */
export type AccountStatus = AccountState & { readonly account: string };

export type Status = {
  /** The exchange's time. */
  readonly asOf: EpochMs;
  readonly lastRun: LoggedRun | undefined;
  readonly ledgers: readonly LedgerStatus[];
  readonly accounts: readonly AccountStatus[];
};

/**
 * The state of each of these ledgers. The number of queries does not grow with that of ledgers. Sends the
 * exchange no request.
 * @param at the exchange's time; default estimated from the last run.
 */
export async function readStatus(
  db: Queryable,
  ledgers: readonly Ledger[],
  at?: EpochMs,
): Promise<Status> {
  const lastRun = await readLastSync(db);
  const now = at ?? (await readExchangeTime(db));
  const names = accountsOf(ledgers);
  const states = await readAccountStates(db, names);
  const times = await readLedgerTimes(db, ledgers, now);
  return {
    ...{ asOf: now, lastRun },
    ledgers: ledgers.map((ledger): LedgerStatus => {
      const { plannedTo, expiresAt, ...stored } = times.of(ledger);
      const state = states.of(ledger.account);
      const retiredAt = retiredSince(state, ledger.productType);
      const endedAt = endedSince(state, ledger.productType);
      const isRead = retiredAt === undefined && endedAt === undefined;
      return {
        ...{ ledger, retiredAt, endedAt },
        ...stored,
        unread: retiredAt === undefined ? stored.unread : [],
        expiresAt: isRead ? expiresAt : undefined,
      };
    }),
    accounts: names.map((account) => {
      const { mode, notAvailable, ended } = states.of(account);
      return { account, mode, notAvailable, ended };
    }),
  };
}

export type StoredTimes = LedgerTimes &
  Pick<LedgerStatus, "bills" | "openRejected" | "expiresAt"> & {
    /** The start of its read, lost or accepted time; undefined where nothing of it was read. */
    readonly beginsAt: EpochMs | undefined;
    /** Lost time that somebody accepted, and unread time of an ended ledger that somebody did. No bills of it are stored. */
    readonly acceptedLost: readonly Interval[];
    /** The newest time that a run planned to read; undefined before the first plan. */
    readonly plannedTo: EpochMs | undefined;
    /** Undefined before the first plan. */
    readonly state: "active" | "retired" | "ended" | undefined;
  };

type Row = Record<
  "coverage" | "unfinished" | "unread" | "openLost" | "acceptedLost" | "recovered",
  IntervalsJson
> &
  Record<"beginsAt" | "plannedTo" | "readThrough" | "expiresAt", string | null> &
  Record<"bills" | "openRejected", string | null> & {
    account: string;
    product_type: string;
    state: StoredTimes["state"] | null;
  };

/**
 * What is stored of these ledgers' time. Windows are read from their newest bill backwards: all bills down to
 * the cursor's are stored, but for others of its millisecond.
 * @param now the exchange's time.
 */
export async function readLedgerTimes(
  db: Queryable,
  ledgers: readonly Ledger[],
  now: EpochMs,
): Promise<{ readonly of: (ledger: Ledger) => StoredTimes }> {
  const isOne = isOneOf(accountsOf(ledgers));
  const { rows } = await db.execute<Row>(sql`
    select
      account,
      product_type,
      bills,
      rejected as "openRejected",
      state,
      ${msOf(sql`planned_to`)} as "plannedTo",
      ${msOf(sql`begins_at`)} as "beginsAt",
      case when lower(covered) < first_unread_at and begins_at <= ${timeOf(horizonAt(now) + startSlackMs)}
        then ${msOf(sql`first_unread_at`)} end as "readThrough",
      ${msOf(sql`unread_from + ${retentionMs} * interval '1 ms'`)} as "expiresAt",
      ${intervalsOf(sql`covered`)} as coverage,
      ${intervalsOf(sql`lost`)} as "openLost",
      ${intervalsOf(sql`accepted`)} as "acceptedLost",
      ${intervalsOf(sql`recovered`)} as recovered,
      ${intervalsOf(sql`unread - case when state = 'ended' then '{}' else coalesce(unfinished, '{}') end`)} as unread,
      ${intervalsOf(sql`case when state <> 'ended' then unfinished - covered end`)} as unfinished
    from ${wantedLedgers(ledgers)}
    left join (
      select account, product_type, bills
      from ledgers
      where ${isOne}
    ) as stored using (account, product_type)
    left join (
      select
        account, ledger as product_type, state, covered, lost, accepted, recovered, unread, begins_at, planned_to, first_unread_at, unread_from
      from ${ledgerTimes({ accounts: accountsOf(ledgers), now })}
    ) as times using (account, product_type)
    left join ${openRejections(accountsOf(ledgers))} as rejects using (account, product_type)
    left join ${begunWindows(isOne)} using (account, product_type)`);
  const timesByLedger = groupByLedger(rows);
  return { of: (ledger) => timesFrom(timesByLedger.of(ledger)[0], now) };
}

/** What was read of windows that were not read to their end: see {@link readLedgerTimes}. */
export const begunWindows = (isOne: SQL): SQL => sql`(
      select account, product_type, range_agg(tstzrange(read_from, window_end)) as unfinished
      from (
        select
          account,
          product_type,
          window_end,
          greatest(window_start, c_time) + interval '1 ms' as read_from
        from (
          select account, product_type, window_start, window_end, cursor as bill_id
          from windows
          where ${isOne}
        ) as begun
        join (
          select account, product_type, bill_id, c_time
          from bills
          where ${isOne}
        ) as bills using (account, product_type, bill_id)
      ) as parts
      where read_from < window_end
      group by account, product_type
    ) as begun`;

function timesFrom(row: Row | undefined, now: EpochMs): StoredTimes {
  const isPlanned = row?.plannedTo != null;
  return {
    bills: Number(row?.bills ?? 0),
    openRejected: Number(row?.openRejected ?? 0),
    state: row?.state ?? undefined,
    plannedTo: timeFrom(row?.plannedTo ?? null),
    beginsAt: timeFrom(row?.beginsAt ?? null),
    readThrough: timeFrom(row?.readThrough ?? null),
    expiresAt: timeFrom(row?.expiresAt ?? null),
    coverage: intervalsFrom(row?.coverage),
    openLost: intervalsFrom(row?.openLost),
    acceptedLost: intervalsFrom(row?.acceptedLost),
    recovered: intervalsFrom(row?.recovered),
    unfinished: intervalsFrom(row?.unfinished),
    unread: isPlanned ? intervalsFrom(row.unread) : interval(horizonAt(now), now),
  };
}
