import { type SQL, sql } from "drizzle-orm";
import { dayMs, historyMs } from "../contract/time.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { accountFlags, isDemo } from "../db/sql/is-demo.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { isNeverRead, type RosterLedger } from "../roster/roster.ts";
import { horizonAt, startSlackMs } from "../sync/plan.ts";
import { type Scope, select, timeOf, usualLimits } from "./select.ts";

const expirySoonMs = 7 * dayMs;

/** What the ledgers' times say. */
export function timeFindings(scope: Scope): readonly SQL[] {
  const { now, limits = usualLimits } = scope;
  const maxAge = timeOf(now - limits.maxAgeMs);
  const ledgers = ledgerTimes(scope);
  const spans = (column: SQL, condition: SQL) => sql`(
      select account, ledger, is_demo, is_paused, break_ids, unnest(${column}) as span
      from ${ledgers}
      where ${condition}
    ) as spans`;
  const ofSpan = { ledger: sql`ledger`, since: sql`lower(span)`, until: sql`upper(span)` };
  return [
    select("lost", { ...ofSpan, breakIds: sql`break_ids` }, spans(sql`lost`, sql`true`)),
    // A sync at work, or one that was cut short, leaves newer time unread: the next reads it.
    select(
      "unread",
      ofSpan,
      sql`${spans(sql`unread`, sql`is_read`)} where lower(span) < ${maxAge}`,
    ),
    select(
      "unreadable",
      { ...ofSpan, breakIds: sql`break_ids` },
      spans(sql`unread`, sql`is_closed`),
    ),
    select(
      "expiring",
      {
        ledger: sql`ledger`,
        since: sql`unread_from`,
        until: sql`unread_from + ${historyMs} * interval '1 ms'`,
      },
      sql`${ledgers} where is_read and unread_from < ${timeOf(now - historyMs + expirySoonMs)}`,
    ),
    select(
      "behind",
      { ledger: sql`ledger`, since: sql`planned_to` },
      sql`${ledgers} where is_read and planned_to < ${maxAge}`,
    ),
  ];
}

/**
 * A row for each ledger that a run has planned to read: its time that is lost and was not accepted, its unread
 * time up to the newest plan, or to its closing, and where its unread time begins.
 */
export function ledgerTimes({ accounts, now }: Scope): SQL {
  const isOne = isOneOf(accounts);
  const horizon = horizonAt(now);
  return sql`(
      select
        account,
        ledger,
        is_demo,
        is_paused,
        is_closed,
        not is_retired and not is_closed as is_read,
        planned_to,
        case when starts_at > ${timeOf(horizon + startSlackMs)} then ${timeOf(horizon)} else settled_to end
          as unread_from,
        break_ids,
        lost - accepted as lost,
        case
          when is_retired then '{}'::tstzmultirange
          -- History that begins later than the exchange's was read by a key that counts no more.
          else tstzmultirange(tstzrange(
            case when starts_at > ${timeOf(horizon + startSlackMs)} then ${timeOf(horizon)} else starts_at end,
            greatest(starts_at, coalesce(closed_at, planned_to))
          )) - covered - lost - accepted
        end as unread
      from (
        select
          account,
          product_type as ledger,
          covered,
          lost,
          settled_to,
          lower(covered + lost + open) as starts_at,
          upper(covered + lost + open) as planned_to,
          closed_at,
          closed_at is not null and times.retired_at is null and not coalesce(is_retired, false) as is_closed,
          times.retired_at is not null or coalesce(is_retired, false) as is_retired,
          coalesce(is_paused, false) as is_paused,
          ${isDemo("product_type")} as is_demo,
          coalesce(accepted, '{}') as accepted,
          coalesce(break_ids, '') as break_ids
        from (
          select account, product_type, covered, lost, open, settled_to, retired_at, closed_at
          from streams
          where settled_to is not null
            and ${isOne}
        ) as times
        left join (
          select
            account,
            product_type,
            range_agg(tstzrange(happened_at, happened_at + difference * interval '1 ms'))
              filter (where state = 'explained') as accepted,
            string_agg(break_id::text, ',' order by break_id) filter (where state = 'open') as break_ids
          from ledger_breaks
          where kind = 'lost'
            and state <> 'resolved'
            and ${isOne}
          group by account, product_type
        ) as decided using (account, product_type)
        left join ${accountFlags(isOne)} using (account)
      ) as stated
    ) as ledgers`;
}

/** The ledgers that wait for their first run, as the roster has them. */
export function neverRead({ accounts, roster = [] }: Scope): SQL {
  const among = accounts && new Set(accounts);
  const ledgers = roster.filter((one) => isNeverRead(one) && (among?.has(one.account) ?? true));
  const column = (pick: (one: RosterLedger) => string) => textArray(ledgers.map(pick));
  return select(
    "never-read",
    { ledger: sql`ledger`, isPaused: sql`false` },
    sql`unnest(
        ${column(({ account }) => account)}::text[],
        ${column(({ productType }) => productType)}::text[],
        ${column(({ isDemo }) => String(isDemo))}::boolean[]
      ) as never_read (account, ledger, is_demo)`,
  );
}
