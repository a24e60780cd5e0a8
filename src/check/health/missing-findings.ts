import { type SQL, sql } from "drizzle-orm";
import { isNeverRead, type RosterLedger } from "../../accounts/roster.ts";
import { isOneOf, textArray, timeOf } from "../../core/postgres/values.ts";
import { ledgerTimes } from "../../core/store/known-time.ts";
import { openRejections } from "../../core/store/rejected-bills.ts";
import { horizonAt } from "../../core/words/plan.ts";
import { dayMs, epochMs, retentionMs } from "../../lib/time.ts";
import { type FindingScope, findingRows, usualLimits } from "./finding-rows.ts";
import { begunWindows } from "./ledger-status.ts";

const expirySoonMs = 7 * dayMs;

/** Time that was not read, will not be, or only in part; and rows of it that could not be. */
export function missingFindings(scope: FindingScope): readonly SQL[] {
  const { accounts, now, limits = usualLimits, span } = scope;
  const isOne = isOneOf(accounts);
  const maxAge = timeOf(now - limits.maxAgeMs);
  const ledgers = ledgerTimes(scope);
  const spansOf = (times: SQL) => sql`(
      select account, ledger, break_ids, lower(span) as since, upper(span) as until
      from (
        select account, ledger, break_ids, unnest(${times}) as span
        from ${ledgers}
      ) as spans
    ) as found`;
  const [from, to] = [span?.from, span?.to].map((time) =>
    time === undefined ? sql`null` : timeOf(time),
  );
  const isUnreadSince = sql`planned_to < ${maxAge} and upper(unread) is not distinct from planned_to`;
  const isRead = sql`state = 'active'`;
  return [
    ...(span === undefined
      ? []
      : [findingRows("recovered", ["ledger", "since", "until"], spansOf(sql`recovered`))]),
    findingRows(
      "lost",
      ["ledger", "since", "until", "breakIds"],
      spansOf(sql`lost + case when state = 'ended' then unread else '{}' end`),
    ),
    findingRows(
      "unread",
      ["ledger", "since", "until", "count", "unreadMs"],
      // A sync at work, or one that was cut short, leaves newer time unread: the next reads it.
      sql`(
        select
          account,
          product_type as ledger,
          count,
          lower(parts) as since,
          upper(parts) as until,
          (
            select extract(epoch from sum(upper(part) - lower(part))) * 1000
            from unnest(parts - coalesce(unfinished, '{}')) as part
          ) as unread_ms
        from (
          select account, product_type, count(*) as count, range_agg(span) as parts
          from (
            select
              account,
              ledger as product_type,
              -- Where it ends with the newest plan, nothing since was read either.
              unnest(unread + case when ${isUnreadSince} then tstzmultirange(tstzrange(planned_to, ${timeOf(now)})) else '{}' end)
                as span
            from ${ledgers}
            where ${isRead}
          ) as spans
          where lower(span) < ${maxAge}
            and span && tstzrange(${from}, ${to})
          group by account, product_type
        ) as unread
        left join ${begunWindows(isOne)} using (account, product_type)
      ) as found`,
    ),
    findingRows(
      "expiring",
      ["ledger", "since", "until"],
      // The oldest time is next where a first sync was cut short: only if no other one follows, it is about to be lost.
      sql`(
        select account, ledger, unread_from as since, unread_from + ${retentionMs} * interval '1 ms' as until
        from ${ledgers}
        where ${isRead}
          and unread_from < ${timeOf(now - retentionMs + expirySoonMs)}
          and starts_at not between ${timeOf(horizonAt(epochMs(now - limits.maxAgeMs)))} and ${timeOf(horizonAt(now))}
      ) as found`,
    ),
    findingRows(
      "behind",
      ["ledger", "since"],
      sql`(
        select account, ledger, planned_to as since
        from ${ledgers}
        where ${isRead}
          and planned_to < ${maxAge}
          and not (${isUnreadSince})
      ) as found`,
    ),
    findingRows(
      "rejected",
      ["ledger", "count"],
      sql`(
        select account, product_type as ledger, rejected as count
        from ${openRejections(accounts)} as open
      ) as found`,
    ),
    findingRows(
      "partly-recovered",
      ["ledger", "since", "until"],
      sql`(
        select account, ledger, since, since + interval '1 ms' as until
        from (
          select
            account,
            product_type as ledger,
            timestamptz 'epoch' +
              json_array_elements_text(tax_comparison -> 'partlyRecovered')::bigint * interval '1 ms' as since
          from ledgers
          where retired_at is null
            and ${isOne}
        ) as parts
      ) as found`,
    ),
    neverRead(scope),
  ];
}

/** The ledgers that wait for their first run, as the roster has them. */
function neverRead({ accounts, roster = [] }: FindingScope): SQL {
  const among = accounts && new Set(accounts);
  const ledgers = roster.filter((one) => isNeverRead(one) && (among?.has(one.account) ?? true));
  const column = (pick: (one: RosterLedger) => string) => textArray(ledgers.map(pick));
  return findingRows(
    "never-read",
    ["ledger"],
    sql`unnest(
        ${column(({ account }) => account)}::text[],
        ${column(({ productType }) => productType)}::text[]
      ) as never_read (account, ledger)`,
  );
}
