import { type SQL, sql } from "drizzle-orm";
import { isNeverRead, type RosterLedger } from "../../accounts/roster.ts";
import { type ProductType, walletOf } from "../../core/contract/product-types.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import { isOneOf, msOf, textArray, timeFrom, timeOf } from "../../core/postgres/values.ts";
import { ledgerTimes } from "../../core/store/known-time.ts";
import { openRejections } from "../../core/store/rejected-bills.ts";
import { comparedBalances } from "../../core/store/wallet-balances.ts";
import { accountFlags } from "../../core/views/ledgers.ts";
import { walletColumn } from "../../core/views/wallet-moves.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { horizonAt } from "../../core/words/plan.ts";
import { dayMs, type EpochMs, epochMs, hourMs, retentionMs } from "../../lib/time.ts";
import { unexplainedDetail, unexplainedSums } from "../reconcile/unexplained.ts";
import { breaksNamedMax, type Finding, type Kind, kindNames } from "./kinds.ts";
import { begunWindows } from "./ledger-status.ts";
import { unprovenBalances } from "./proof.ts";
import { isSyncAtWork, isUnhinderedSync } from "./runs.ts";
import type { Accepted } from "./verdict.ts";

export type Limits = { readonly maxAgeMs: number; readonly ltvMax: number };

/** How far behind a ledger may be, and how high a loan to value. */
export const usualLimits: Limits = { maxAgeMs: 3 * hourMs, ltvMax: 0.8 };

/** A span of time, perhaps without a start or an end. */
export type Span = { readonly [end in keyof Interval]?: Interval[end] | undefined };

export type FindingScope = {
  /** Only these; default all. */
  readonly accounts?: readonly string[] | undefined;
  readonly productTypes?: readonly ProductType[] | undefined;
  /** The ledgers of the accounts. One that waits for its first run is a finding. */
  readonly roster?: readonly RosterLedger[];
  /** The exchange's time. */
  readonly now: EpochMs;
  readonly limits?: Limits;
  /** Only what concerns this time. */
  readonly span?: Span | undefined;
};

/** The findings, worst first. One query, however many accounts there are. */
export async function readFindings(
  db: Queryable,
  scope: FindingScope,
  { limit = 1_000 } = {},
): Promise<readonly Finding[]> {
  const { rows } = await db.execute<
    Omit<Finding, "since" | "until" | "breakIds"> &
      Record<"since" | "until", string | null> & { breakIds: string }
  >(sql`
    select
      kind,
      account,
      ledger,
      coin,
      ${msOf(sql`since`)} as since,
      ${msOf(sql`until`)} as until,
      count::float8,
      unread_ms as "unreadMs",
      detail,
      difference,
      break_ids as "breakIds",
      is_repairable as "isRepairable"
    from (${findings(scope)}) as findings
    order by
      array_position(${textArray(kindNames)}::text[], kind),
      not is_repairable,
      findings.since nulls first,
      account collate "C",
      ledger collate "C",
      coin collate "C",
      detail collate "C"
    limit ${limit}`);
  const unconfiguredOf = unconfiguredIn(scope.roster);
  return rows.map(({ since, until, breakIds, ...row }) => ({
    ...row,
    unconfigured: unconfiguredOf(row),
    since: timeFrom(since),
    until: timeFrom(until),
    breakIds: breakIds === "" ? [] : breakIds.split(",").slice(0, breaksNamedMax).map(Number),
  }));
}

/** The part of a finding's ledger that is not configured. Undefined if the configuration names no account at all. */
function unconfiguredIn(roster: readonly RosterLedger[] = []) {
  const configured = new Set(
    roster.filter(({ isConfigured }) => isConfigured).map(({ account }) => account),
  );
  const stored = new Set(roster.filter(({ isStored }) => isStored).map(({ account }) => account));
  const outside = roster.filter(({ state, isStored }) => isStored && state === "not-configured");
  return (one: Pick<Finding, "kind" | "account" | "ledger">): Finding["unconfigured"] => {
    if (configured.size === 0) return undefined;
    if (one.kind === "never-read") {
      const isShared = roster.some(
        ({ account, productType, state }) =>
          account === one.account && productType === one.ledger && state === "not-configured",
      );
      if (isShared && configured.has(one.account)) return "product type";
      const isAnother = outside.some(({ account }) => !configured.has(account));
      return isAnother && !stored.has(one.account) ? "another account" : undefined;
    }
    const isOutside = outside.some(
      ({ account, productType }) => account === one.account && productType === one.ledger,
    );
    if (!isOutside) return undefined;
    return configured.has(one.account) ? "product type" : "account";
  };
}

/** How many findings there are of a kind, and of how many ledgers. */
export type FindingCount = {
  readonly kind: Kind;
  readonly findings: number;
  readonly ledgers: number;
};

export async function countFindings(
  db: Queryable,
  scope: FindingScope,
): Promise<readonly FindingCount[]> {
  const { rows } = await db.execute<FindingCount>(sql`
    select
      kind,
      count(*)::int as findings,
      count(distinct (account, ledger))::int as ledgers
    from (${findings(scope)}) as findings
    group by kind
    order by array_position(${textArray(kindNames)}::text[], kind)`);
  return rows;
}

export async function readAccepted(
  db: Queryable,
  { accounts, productTypes, span }: Pick<FindingScope, "accounts" | "productTypes" | "span">,
): Promise<Accepted> {
  const wallets = productTypes && [...new Set([...productTypes, ...productTypes.map(walletOf)])];
  const { rows } = await db.execute<{ coin: string; difference: string }>(sql`
    select coin, sum(abs(difference))::text as difference
    from (
      select account, ledger, coin, difference
      from ledger_breaks
      where state = 'accepted'
        and difference <> 0
        and (coin <> '' or kind = 'lost')
        and ${isOneOf(accounts)}
        and ${wallets === undefined ? sql`true` : sql`ledger = any(${textArray([...wallets, ""])}::text[])`}
        and ${span?.from === undefined ? sql`true` : sql`happened_at >= ${timeOf(span.from)}`}
        and ${span?.to === undefined ? sql`true` : sql`happened_at < ${timeOf(span.to)}`}
    ) as accepted
    group by coin
    order by coin`);
  const { rows: recovered } = await db.execute(sql`
    select product_type
    from ledgers
    where recovered && tstzrange(${span?.from === undefined ? sql`null` : timeOf(span.from)}, ${span?.to === undefined ? sql`null` : timeOf(span.to)})
      and retired_at is null
      and ${isOneOf(accounts)}
      and ${isOneOf(productTypes, "product_type")}
    limit 1`);
  return {
    isRecovered: recovered.length > 0,
    differences: rows.filter(({ coin }) => coin !== ""),
    lostMs: Number(rows.find(({ coin }) => coin === "")?.difference ?? 0),
  };
}

/** The ledgers that wait for their first run, as the roster has them. */
function neverRead({ accounts, roster = [] }: FindingScope): SQL {
  const among = accounts && new Set(accounts);
  const ledgers = roster.filter((one) => isNeverRead(one) && (among?.has(one.account) ?? true));
  const column = (pick: (one: RosterLedger) => string) => textArray(ledgers.map(pick));
  return select(
    "never-read",
    { ledger: sql`ledger` },
    sql`unnest(
        ${column(({ account }) => account)}::text[],
        ${column(({ productType }) => productType)}::text[]
      ) as never_read (account, ledger)`,
  );
}

/** The chains with balances that do not follow any more: see proof.ts. */
const unproven = (scope: FindingScope): SQL =>
  select(
    "broken",
    {
      ...{ ledger: sql`wallet`, coin: sql`coin`, since: sql`since`, until: sql`until` },
      ...{ count: sql`balances`, detail: sql`detail`, difference: sql`difference` },
    },
    sql`${unprovenBalances(scope)} as found`,
  );

/** A select a kind. Each names its accounts. */
function findings(scope: FindingScope): SQL {
  const { span, productTypes } = scope;
  const names = productTypes && [...new Set([...productTypes, ...productTypes.map(walletOf)])];
  const all = [
    ...timeFindings(scope),
    ...breakFindings(scope),
    ...rowFindings(scope),
    balanceFinding(scope),
    ...(productTypes === undefined && span === undefined ? accountFindings(scope) : []),
    neverRead(scope),
    unproven(scope),
  ];
  const isWithin = [
    names === undefined ? sql`true` : sql`ledger = any(${textArray(names)}::text[])`,
    // When bills were checked or restated says nothing of their own time.
    span?.to === undefined
      ? sql`true`
      : sql`(kind in ('restated', 'unchecked') or coalesce(since < ${timeOf(span.to)}, true))`,
    span?.from === undefined ? sql`true` : sql`coalesce(until > ${timeOf(span.from)}, true)`,
  ];
  return sql`
    select
      kind, account, ledger, coin, since, until, count, unread_ms, detail, difference, break_ids, is_repairable
    from (${sql.join(
      all,
      sql`
    union all`,
    )}) as judged
    where ${sql.join(isWithin, sql` and `)}`;
}

/** @param rows with an account. */
const select = (
  kind: Kind | SQL,
  columns: Partial<Record<keyof Finding, SQL>>,
  rows: SQL,
): SQL => sql`
    select
      ${typeof kind === "string" ? sql`${kind}::text` : kind} as kind,
      (${columns.account ?? sql`account`})::text as account,
      (${columns.ledger ?? sql`''`})::text as ledger,
      (${columns.coin ?? sql`''`})::text as coin,
      (${columns.since ?? sql`null`})::timestamptz as since,
      (${columns.until ?? sql`null`})::timestamptz as until,
      (${columns.count ?? sql`1`})::bigint as count,
      (${columns.unreadMs ?? sql`null`})::float8 as unread_ms,
      (${columns.detail ?? sql`''`})::text as detail,
      (${columns.difference ?? sql`null`})::text as difference,
      (${columns.breakIds ?? sql`''`})::text as break_ids,
      (${columns.isRepairable ?? sql`false`})::boolean as is_repairable
    from ${rows}`;

/**
 * Rows with `is_retired` of their accounts.
 * @param rows of these accounts, in parentheses or by their table's name.
 */
const withFlags = (rows: SQL, accounts: readonly string[] | undefined): SQL => sql`(
      select
        flagged.*,
        coalesce(is_retired, false) as is_retired
      from ${rows} as flagged
      left join ${accountFlags(isOneOf(accounts))} using (account)
    ) as flagged`;

const expirySoonMs = 7 * dayMs;

/** How long the parts of a multirange are, in ms. */
const lengthOf = (parts: SQL): SQL =>
  sql`(select extract(epoch from sum(upper(part) - lower(part))) * 1000 from unnest(${parts}) as part)`;

/** Findings of the ledgers' times. */
function timeFindings(scope: FindingScope): readonly SQL[] {
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
    select(
      "lost",
      { ...ofSpan, breakIds: sql`break_ids` },
      spans(sql`lost + case when state = 'ended' then unread else '{}' end`, sql`true`),
    ),
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
function breakFindings(scope: FindingScope): readonly SQL[] {
  const { accounts, now, span } = scope;
  const isOne = isOneOf(accounts);
  const isWithin = isWithinSpan(sql`happened_at`, span);
  // A balance beside unread or lost time does not follow: that time is the finding.
  const open = sql`(
      select
        account, ledger, coin, break_id, kind, happened_at, difference, repair_failed_at, has_loss,
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
          ${walletColumn("ledger")} as ledger,
          bool_or(not isempty(unread) or not isempty(lost)) as has_hole
        from ${ledgerTimes(scope)}
        group by 1, 2
      ) as wallets using (account, ledger)
      left join (
        select account, ${walletColumn("product_type")} as ledger, bool_or(not isempty(lost)) as has_loss
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
          -- Of restatements it would be their number.
          case count(*)
            when 1 then sum(nullif(difference, 0)) filter (where kind <> 'restated')
            else sum(abs(amount))
          end as difference,
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
            select account, ${walletColumn("product_type")} as ledger, max(stored_at) as stored_at
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
function rowFindings({ accounts, span }: FindingScope): readonly SQL[] {
  const isOne = isOneOf(accounts);
  const times = [
    span?.from === undefined ? sql`true` : sql`c_time >= ${timeOf(span.from)}`,
    span?.to === undefined ? sql`true` : sql`c_time < ${timeOf(span.to)}`,
  ];
  return [
    select(
      "rejected",
      { ledger: sql`product_type`, count: sql`rejected` },
      sql`${openRejections(accounts)} as found`,
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
          count(*) as bills,
          date_trunc('day', min(c_time), 'UTC') as since,
          date_trunc('day', max(c_time), 'UTC') + interval '24 hours' as until
        from unclassified_bills
        where (amount <> 0 or fee <> 0)
          and ${sql.join(times, sql` and `)}
          and ${isOne}
        group by account, product_type, coin, business_type
      ) as found`,
    ),
  ];
}

/** The balances that differ from their bills' where both may be right: see kinds.ts. */
const balanceFinding = ({ accounts }: FindingScope): SQL =>
  select(
    "unexplained",
    {
      ledger: sql`ledger`,
      coin: sql`coin`,
      since: sql`last_seen_at`,
      difference: sql`balance - expected`,
    },
    sql`(
      select account, wallet as ledger, coin, last_seen_at, balance, expected
      from ${comparedBalances(accounts)}
      where differs
        and may_differ
    ) as found`,
  );

/**
 * The accounts whose last sync failed so that another try would fail, too. Once that is long ago, they are behind or
 * were never read, which are findings; a run that has planned again shows that the account can be read.
 */
const failedAccounts = ({ accounts, now, limits = usualLimits }: FindingScope): SQL => sql`(
        select distinct on (account) account, '' as product_type, started_at, error
        from (
          select account, started_at, reports.error
          from runs
          cross join jsonb_to_recordset(counts -> 'accounts')
            as reports (account text, error text, "isPermanent" boolean)
          where command = 'sync'
            and outcome in ('failed', 'incomplete')
            and started_at > ${timeOf(now - limits.maxAgeMs)}
            and "isPermanent"
            and ${isOneOf(accounts)}
        ) as refusals
        left join (
          select account, max(planned_clock) as planned_clock
          from ledgers
          where ${isOneOf(accounts)}
          group by account
        ) as plans using (account)
        where planned_clock is null
          or planned_clock < started_at
        order by account, started_at desc
      )`;

/** The last sync if it did not do all that it began, unless an account cannot be synced: see {@link failedAccounts}. */
const lastSync = sql`(
        select *
        from (
          select started_at, outcome, error, counts
          from runs
          where ${isUnhinderedSync}
          order by started_at desc
          limit 1
        ) as newest
        where (outcome in ('running', 'stopped', 'failed') or error is not null)
          and not (outcome = 'running' and ${isSyncAtWork})
          and not coalesce(counts @? '$.accounts[*].isPermanent ? (@ == true)', false)
      ) as last_sync`;

// An older record says nothing of the present.
const ltvKeptMs = 7 * dayMs;

/** Findings of whole accounts. */
function accountFindings(scope: FindingScope): readonly SQL[] {
  const { accounts, now, roster = [], limits = usualLimits } = scope;
  // A sync would read nothing more where all is retired, or has ended.
  const isAnyRead =
    roster.length === 0 || roster.some(({ state }) => !["retired", "ended"].includes(state));
  const columns = { ledger: sql`risk_unit_id`, since: sql`last_seen_at` };
  const records = sql`(
        select distinct on (account, risk_unit_id) account, risk_unit_id, ltv, last_seen_at
        from ltv_snapshots
        where ${isOneOf(accounts)}
        order by account, risk_unit_id, first_seen_at desc
      )`;
  const newest = sql`${withFlags(records, accounts)}
      where not is_retired
        and last_seen_at > ${timeOf(now - ltvKeptMs)}`;
  return [
    select(
      "never-synced",
      { account: sql`''` },
      sql`(select 1) as one where not exists (select 1 from runs where command = 'sync')`,
    ),
    select(
      "cut-short",
      {
        ...{ account: sql`''`, since: sql`started_at` },
        detail: sql`coalesce(error, case outcome when 'running' then 'it was killed' else 'it was stopped' end)`,
      },
      sql`${lastSync} where ${isAnyRead}::boolean`,
    ),
    select(
      "cannot-sync",
      { since: sql`started_at`, detail: sql`error` },
      sql`${withFlags(failedAccounts(scope), accounts)}
      where not is_retired`,
    ),
    select(
      "ltv-high",
      { ...columns, detail: sql`ltv` },
      sql`${newest} and ltv > ${limits.ltvMax}::numeric`,
    ),
    select(
      "ltv-behind",
      columns,
      sql`${newest} and last_seen_at < ${timeOf(now - limits.maxAgeMs)}`,
    ),
  ];
}
