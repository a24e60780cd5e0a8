import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, isoTime } from "../contract/time.ts";
import { accountFlags, isDemo } from "../db/sql/is-demo.ts";
import { isOneOf } from "../db/values.ts";
import { horizonAt, startSlackMs } from "../sync/plan.ts";

/**
 * Whether a ledger is read, or why not: of a row of `streams` with its account's flags.
 * A paused ledger is to be read again: its unread time is lost after 90 days.
 */
export const ledgerState = sql`case
          when retired_at is not null or coalesce(is_retired, false) then 'retired'
          when closed_at is not null then 'closed'
          when coalesce(is_paused, false) then 'paused'
          else 'read'
        end`;

/**
 * A row for each ledger that a run has planned to read: whether it is still read, its time that is lost and was not
 * accepted, its unread time up to the newest plan, or to its closing, and where its unread time begins.
 */
export function ledgerTimes({
  accounts,
  now,
}: {
  readonly accounts?: readonly string[] | undefined;
  /** The exchange's time. */
  readonly now: EpochMs;
}): SQL {
  const timeOf = (time: EpochMs) => sql`${isoTime(time)}::timestamptz`;
  const isOne = isOneOf(accounts);
  // The exchange's history began there when it served the ledger last.
  const horizon = sql`least(${timeOf(horizonAt(now))}, closed_at - ${now - horizonAt(now)} * interval '1 ms')`;
  const isLater = sql`starts_at > ${horizon} + ${startSlackMs} * interval '1 ms'`;
  return sql`(
      select
        account,
        ledger,
        is_demo,
        state,
        is_paused,
        bills,
        covered,
        recovered,
        lower(covered + lost) as begins_at,
        settled_to,
        planned_to,
        case
          when ${isLater} then ${horizon}
          -- A first sync begins a little after the horizon: what passes it meanwhile is no loss.
          when starts_at = settled_to then starts_at + ${startSlackMs} * interval '1 ms'
          else settled_to
        end as unread_from,
        break_ids,
        lost - accepted as lost,
        tstzmultirange(tstzrange(
          -- History that begins later than the exchange's was read by a key that counts no more.
          case when ${isLater} then ${horizon} else starts_at end,
          greatest(starts_at, coalesce(closed_at, planned_to))
        )) - covered - lost - recovered - accepted as unread
      from (
        select
          account,
          product_type as ledger,
          bills,
          covered,
          lost,
          recovered,
          settled_to,
          lower(covered + lost + open) as starts_at,
          upper(covered + lost + open) as planned_to,
          closed_at,
          ${ledgerState} as state,
          coalesce(is_paused, false) as is_paused,
          ${isDemo("product_type")} as is_demo,
          coalesce(accepted, '{}') as accepted,
          coalesce(break_ids, '') as break_ids
        from (
          select account, product_type, bills, covered, lost, recovered, open, settled_to, retired_at, closed_at
          from streams
          where settled_to is not null
            and ${isOne}
        ) as times
        left join (
          select
            account,
            product_type,
            range_agg(tstzrange(happened_at, happened_at + difference * interval '1 ms'))
              filter (where state = 'accepted') as accepted,
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
