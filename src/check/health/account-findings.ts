import { type SQL, sql } from "drizzle-orm";
import { isOneOf } from "../../core/postgres/values.ts";
import { dayMs } from "../../lib/time.ts";
import { isSyncAtWork, isUnhinderedSync } from "./runs.ts";
import { type FindingScope, select, timeOf, usualLimits, withFlags } from "./select.ts";

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
export function accountFindings(scope: FindingScope): readonly SQL[] {
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
