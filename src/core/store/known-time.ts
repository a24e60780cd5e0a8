import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../../lib/time.ts";
import type { Queryable } from "../postgres/connect.ts";
import {
  type IntervalsJson,
  intervalsFrom,
  intervalsOf,
  isOneOf,
  msOf,
  textArray,
  timeFrom,
  timeOf,
} from "../postgres/values.ts";
import { accountFlags } from "../views/ledgers.ts";
import type { KnownTime, Ledger } from "../words/ledger.ts";
import { beginsAnew } from "../words/page.ts";
import { horizonAt, startSlackMs } from "../words/plan.ts";

type TimesRow = Record<"covered" | "lost" | "recovered", IntervalsJson> & {
  account: string;
  product_type: string;
};

type WindowRow = Record<"account" | "product_type" | "from" | "to", string> & {
  cursor: string | null;
  started_at: string | null;
};

/** What is known of a ledger's time. */
export async function readKnownTime(db: Queryable, ledger: Ledger): Promise<KnownTime> {
  return (await readKnownTimes(db, [ledger])).of(ledger);
}

export type KnownTimes = { readonly of: (ledger: Ledger) => KnownTime };

/** What is known of each of these ledgers' time, read at once. */
export async function readKnownTimes(
  db: Queryable,
  ledgers: readonly Ledger[],
): Promise<KnownTimes> {
  const isOwn = isOneOf(accountsOf(ledgers));
  // One after the other, in this order: a window that ends meanwhile is there twice, and not missing.
  const { rows: windows } = await db.execute<WindowRow>(sql`
    select
      account,
      product_type,
      ${msOf(sql`window_start`)} as from,
      ${msOf(sql`window_end`)} as to,
      cursor,
      ${msOf(sql`started_at`)} as started_at
    from windows
    join ${wantedLedgers(ledgers)} using (account, product_type)
    where ${isOwn}
    order by window_start`);
  const { rows: times } = await db.execute<TimesRow>(sql`
    select
      account,
      product_type,
      ${intervalsOf(sql`covered`)} as covered,
      ${intervalsOf(sql`lost`)} as lost,
      ${intervalsOf(sql`recovered`)} as recovered
    from ledgers
    join ${wantedLedgers(ledgers)} using (account, product_type)
    where ${isOwn}`);
  const [openOf, knownOf] = [groupByLedger(windows), groupByLedger(times)];
  return {
    of(ledger) {
      const [known] = knownOf.of(ledger);
      return {
        coverage: intervalsFrom(known?.covered),
        lost: intervalsFrom(known?.lost),
        recovered: intervalsFrom(known?.recovered),
        open: openOf.of(ledger).map(({ from, to, cursor, started_at }) => ({
          window: { from: timeFrom(from), to: timeFrom(to) },
          ...(cursor === null || beginsAnew(cursor) ? {} : { cursor }),
          ...(started_at === null ? {} : { startedAt: timeFrom(started_at) }),
        })),
      };
    },
  };
}

/**
 * The ledgers' accounts, for a condition of constants beside the join: by a join alone, a distributed
 * database would read the rows of all accounts.
 */
export const accountsOf = (ledgers: readonly Ledger[]): readonly string[] => [
  ...new Set(ledgers.map(({ account }) => account)),
];

/** The ledgers as a table, to be joined by account and product type. */
export const wantedLedgers = (ledgers: readonly Ledger[]) => sql`
  unnest(
    ${textArray(ledgers.map(({ account }) => account))}::text[],
    ${textArray(ledgers.map(({ productType }) => productType))}::text[]
  ) as wanted (account, product_type)`;

/** Groups rows by ledger. A ledger without rows has an empty group. */
export function groupByLedger<Row extends { account: string; product_type: string }>(
  rows: readonly Row[],
): { readonly of: (ledger: Ledger) => readonly Row[] } {
  const nameOf = (...names: readonly string[]) => JSON.stringify(names);
  const groups = Map.groupBy(rows, (row) => nameOf(row.account, row.product_type));
  return { of: ({ account, productType }) => groups.get(nameOf(account, productType)) ?? [] };
}

/**
 * Whether a ledger is read, or why not: of a row of `ledgers` with its account's flags.
 */
export const ledgerState = sql`case
          when retired_at is not null or coalesce(is_retired, false) then 'retired'
          when ended_at is not null then 'ended'
          else 'active'
        end`;

/**
 * A row for each ledger that a run has planned to read: whether it is still read, its time that is lost and was not
 * accepted, its time that was accepted, its unread time up to the newest plan, or to its end, and where its unread
 * time begins.
 */
export function ledgerTimes({
  accounts,
  now,
}: {
  readonly accounts?: readonly string[] | undefined;
  /** The exchange's time. */
  readonly now: EpochMs;
}): SQL {
  const isOne = isOneOf(accounts);
  // The exchange's history began there when it served the ledger last.
  const horizon = sql`least(${timeOf(horizonAt(now))}, ended_at - ${now - horizonAt(now)} * interval '1 ms')`;
  const isLater = sql`starts_at > ${horizon} + ${startSlackMs} * interval '1 ms'`;
  return sql`(
      select
        account,
        ledger,
        state,
        bills,
        covered,
        recovered,
        lower(covered + lost) as begins_at,
        starts_at,
        first_unread_at,
        planned_to,
        case
          when ${isLater} then ${horizon}
          -- A first sync begins a little after the horizon: what passes it meanwhile is no loss.
          when starts_at = first_unread_at then starts_at + ${startSlackMs} * interval '1 ms'
          else first_unread_at
        end as unread_from,
        break_ids,
        lost - accepted as lost,
        accepted - covered - recovered as accepted,
        tstzmultirange(tstzrange(
          -- History that begins later than the exchange's was read by a key that counts no more.
          case when ${isLater} then ${horizon} else starts_at end,
          greatest(starts_at, coalesce(ended_at, planned_to))
        )) - covered - lost - recovered - accepted as unread
      from (
        select
          account,
          product_type as ledger,
          bills,
          covered,
          lost,
          recovered,
          first_unread_at,
          lower(covered + lost + open) as starts_at,
          upper(covered + lost + open) as planned_to,
          ended_at,
          ${ledgerState} as state,
          coalesce(accepted, '{}') as accepted,
          coalesce(break_ids, '') as break_ids
        from (
          select account, product_type, bills, covered, lost, recovered, open, first_unread_at, retired_at, ended_at
          from ledgers
          where first_unread_at is not null
            and ${isOne}
        ) as times
        left join (
          select
            account,
            ledger as product_type,
            range_agg(tstzrange(happened_at, happened_at + difference * interval '1 ms'))
              filter (where state = 'accepted') as accepted,
            string_agg(break_id::text, ',' order by break_id) filter (where state = 'open') as break_ids
          from ledger_breaks
          where kind = 'lost'
            and state <> 'resolved'
            and ${isOne}
          group by account, ledger
        ) as decided using (account, product_type)
        left join ${accountFlags(isOne)} using (account)
      ) as stated
    ) as ledgers`;
}

/**
 * Estimates the exchange's time without asking it: the time at which a run planned last, plus what has passed on
 * the database's clock since then. A constant error of the database's clock cancels out.
 *
 * @param accounts whose runs to look at. Default any.
 * @returns the database's own time where no run has stored the exchange's yet.
 */
export async function readExchangeTime(
  db: Queryable,
  accounts?: readonly string[],
): Promise<EpochMs> {
  const { rows } = await db.execute<{ now: string }>(sql`
    with last_plan as (
      select planned_at, planned_clock
      from ledgers
      where planned_at is not null
        and ${isOneOf(accounts)}
      order by planned_at desc
      limit 1
    )
    select
      extract(epoch from coalesce(
        -- Where the database's clock was set back since, its time may lie before the stored one.
        (select greatest(planned_at + (clock_timestamp() - planned_clock), planned_at) from last_plan),
        clock_timestamp()
      )) * 1000 as now`);
  return epochMs(Math.floor(Number(rows[0]?.now)));
}
