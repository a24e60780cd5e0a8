import { type SQL, sql } from "drizzle-orm";
import { isOneOf } from "../../core/postgres/values.ts";
import { ledgerTimes } from "../../core/store/known-time.ts";
import { isOpenRejection } from "../../core/store/rejected-bills.ts";
import { walletOf } from "../../core/views/wallet-moves.ts";
import { horizonAt } from "../../core/words/plan.ts";
import { dayMs, epochMs, retentionMs } from "../../lib/time.ts";
import { unexplainedDetail, unexplainedSums } from "../reconcile/unexplained.ts";
import { begunWindows } from "./ledger-status.ts";
import { type FindingScope, type Span, select, timeOf, usualLimits } from "./select.ts";

const expirySoonMs = 7 * dayMs;

/** How long the parts of a multirange are, in ms. */
const lengthOf = (parts: SQL): SQL =>
  sql`(select extract(epoch from sum(upper(part) - lower(part))) * 1000 from unnest(${parts}) as part)`;

/** Findings of the ledgers' times. */
export function timeFindings(scope: FindingScope): readonly SQL[] {
  const { now, limits = usualLimits } = scope;
  const maxAge = timeOf(now - limits.maxAgeMs);
  const ledgers = ledgerTimes(scope);
  const spans = (column: SQL, condition: SQL) => sql`(
      select account, ledger, break_ids, unnest(${column}) as span
      from ${ledgers}
      where ${condition}
    ) as spans`;
  const ledger = sql`ledger`;
  const [from, to] = [scope.span?.from, scope.span?.to].map((time) =>
    time === undefined ? sql`null` : timeOf(time),
  );
  const isUnreadSince = sql`planned_to < ${maxAge} and upper(unread) is not distinct from planned_to`;
  const isRead = sql`state = 'active'`;
  const ofSpan = { ledger, since: sql`lower(span)`, until: sql`upper(span)` };
  return [
    select("recovered", ofSpan, spans(sql`recovered`, sql.raw(String(scope.span !== undefined)))),
    select("lost", { ...ofSpan, breakIds: sql`break_ids` }, spans(sql`lost`, sql`true`)),
    select(
      "unread",
      {
        ...{ ledger, count: sql`spans`, since: sql`lower(parts)`, until: sql`upper(parts)` },
        unreadMs: lengthOf(sql`parts - coalesce(unfinished, '{}')`),
      },
      // A sync at work, or one that was cut short, leaves newer time unread: the next reads it.
      sql`(
        select account, product_type as ledger, count(*) as spans, range_agg(span) as parts
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
      left join (
        select account, product_type as ledger, unfinished
        from ${begunWindows(isOneOf(scope.accounts))}
      ) as begun using (account, ledger)`,
    ),
    select(
      "left-unread",
      { ...ofSpan, breakIds: sql`break_ids` },
      spans(sql`unread`, sql`state = 'ended'`),
    ),
    select(
      "expiring",
      {
        ledger,
        since: sql`unread_from`,
        until: sql`unread_from + ${retentionMs} * interval '1 ms'`,
      },
      // The oldest time is next where a first sync was cut short: only if no other one follows, it is about to be lost.
      sql`${ledgers}
      where ${isRead}
        and unread_from < ${timeOf(now - retentionMs + expirySoonMs)}
        and starts_at not between ${timeOf(horizonAt(epochMs(now - limits.maxAgeMs)))} and ${timeOf(horizonAt(now))}`,
    ),
    select(
      "behind",
      { ledger, since: sql`planned_to` },
      sql`${ledgers} where ${isRead} and planned_to < ${maxAge} and not (${isUnreadSince})`,
    ),
  ];
}

const isWithinSpan = (at: SQL, span: Span | undefined): SQL => sql`
          coalesce(${at} < ${span?.to === undefined ? sql`null` : timeOf(span.to)}, true)
          and coalesce(${at} >= ${span?.from === undefined ? sql`null` : timeOf(span.from)}, true)`;

/** The open breaks, what no break explains, and the ledgers whose newest bills no reconcile has checked. */
export function breakFindings(scope: FindingScope): readonly SQL[] {
  const { accounts, now, span } = scope;
  const isOne = isOneOf(accounts);
  const isWithin = isWithinSpan(sql`happened_at`, span);
  // A balance beside unread or lost time does not follow: that time is the finding.
  const open = sql`(
      select
        account, ledger, coin, break_id, kind, happened_at, repair_failed_at, has_loss,
        case when kind in ('balance', 'unread') then nullif(difference, 0) end as amount
      from (
        select
          account, ledger, coin, break_id, kind, happened_at, difference, repair_failed_at
        from ledger_breaks
        where state = 'open'
          and kind <> 'lost'
          and (kind = 'restated' or ${isWithin})
          and ${isOne}
      ) as open_breaks
      left join (
        select
          account,
          ${walletOf("ledger")} as ledger,
          bool_or(not isempty(unread) or not isempty(lost)) as has_hole
        from ${ledgerTimes(scope)}
        group by 1, 2
      ) as wallets using (account, ledger)
      left join (
        select account, ${walletOf("product_type")} as ledger, bool_or(not isempty(lost)) as has_loss
        from ledgers
        where ${isOne}
        group by 1, 2
      ) as losses using (account, ledger)
      where not (kind = 'unread' and has_hole is true)
    ) as breaks`;
  const isOutdated = sql`kind = 'unread' and has_loss is not true`;
  return [
    select(
      "unexplained",
      {
        ledger: sql`ledger`,
        ...{ coin: sql`coin`, since: sql`since`, until: sql`until` },
        ...{ count: sql`balances`, detail: unexplainedDetail },
      },
      sql`(
        select account, wallet as ledger, coin, since, until, balances, higher, lower, types
        from ${unexplainedSums(accounts, isWithinSpan(sql`at`, span))} as sums
      ) as found`,
    ),
    select(
      sql`finding`,
      {
        ledger: sql`ledger`,
        coin: sql`coin`,
        since: sql`since`,
        until: sql`until`,
        count: sql`breaks`,
        detail: sql`detail`,
        difference: sql`difference`,
        breakIds: sql`break_ids`,
        isRepairable: sql`is_repairable`,
      },
      sql`(
        select
          account,
          ledger,
          coin,
          case kind when 'restated' then kind else 'broken' end as finding,
          min(happened_at) as since,
          max(happened_at) + interval '1 ms' as until,
          count(*) as breaks,
          string_agg(distinct kind, ', ') as detail,
          case count(*) when 1 then sum(amount) else sum(abs(amount)) end as difference,
          string_agg(break_id::text, ',' order by break_id) as break_ids,
          bool_or(
            coin <> '' and ledger <> '' and repair_failed_at is null and happened_at > ${timeOf(horizonAt(now))}
          ) as is_repairable
        from ${open}
        where not (${isOutdated})
        group by account, ledger, coin, finding
      ) as found`,
    ),
    select(
      "unchecked",
      { ledger: sql`ledger`, since: sql`checked` },
      sql`(
        select account, ledger, min(checked) as checked
        from (
          select account, ledger, case when isfinite(checked) then checked end as checked
          from (
            select account, ${walletOf("product_type")} as ledger, max(stored_at) as stored_at
            from ledgers
            where bills > 0
              and ${isOne}
            group by 1, 2
          ) as stored
          left join (
            select
              account,
              wallet as ledger,
              case when bool_and(isfinite(checked_before)) then max(checked_before) end as checked
            from reconciled_chains
            where ${isOne}
            group by 1, 2
          ) as chains using (account, ledger)
          where checked is null
            or stored_at >= checked
          union all
          -- Time beside these breaks was read since they were found.
          select account, ledger, null
          from ${open}
          where ${isOutdated}
        ) as due
        group by account, ledger
      ) as found`,
    ),
  ];
}

/** Findings of single rows or milliseconds: rejected, recovered in part, or of a type without a category. */
export function rowFindings({ accounts, span }: FindingScope): readonly SQL[] {
  const isOne = isOneOf(accounts);
  const days = [
    span?.from === undefined
      ? sql`true`
      : sql`day >= (${timeOf(span.from)} at time zone 'UTC')::date`,
    span?.to === undefined ? sql`true` : sql`day < ${timeOf(span.to)} at time zone 'UTC'`,
  ];
  return [
    select(
      "rejected",
      { ledger: sql`product_type`, count: sql`rejected` },
      sql`(
        select account, product_type, count(*) as rejected
        from rejected_bills
        where ${isOpenRejection}
          and ${isOne}
        group by account, product_type
      ) as found`,
    ),
    select(
      "partly-recovered",
      { ledger: sql`product_type`, since: sql`at`, until: sql`at + interval '1 ms'` },
      sql`(
        select account, product_type, timestamptz 'epoch' + ms * interval '1 ms' as at
        from (
          select account, product_type, json_array_elements_text(tax_comparison -> 'partlyRecovered')::bigint as ms
          from ledgers
          where retired_at is null
            and ${isOne}
        ) as parts
      ) as found`,
    ),
    select(
      "unclassified",
      {
        ledger: sql`product_type`,
        coin: sql`coin`,
        since: sql`since`,
        until: sql`until`,
        count: sql`bills`,
        detail: sql`business_type`,
      },
      sql`(
        select
          account,
          product_type,
          coin,
          business_type,
          sum(bills) as bills,
          min(day)::timestamp at time zone 'UTC' as since,
          (max(day) + 1)::timestamp at time zone 'UTC' as until
        from type_days
        join business_types
          on code = business_type
          and category = 'unclassified'
        where bills > 0
          and (amount_in <> 0 or amount_out <> 0 or fee_in <> 0 or fee_out <> 0)
          and ${sql.join(days, sql` and `)}
          and ${isOne}
        group by account, product_type, coin, business_type
      ) as found`,
    ),
  ];
}
