import { type SQL, sql } from "drizzle-orm";
import { isOneOf, timeOf } from "../../core/postgres/values.ts";
import { accountFlags } from "../../core/views/ledgers.ts";
import { dayMs } from "../../lib/time.ts";
import { type FindingScope, findingRows, usualLimits } from "./finding-rows.ts";
import { isSyncAtWork, isUnhinderedSync } from "./runs.ts";

// An older record says nothing of the present.
const ltvKeptMs = 7 * dayMs;

/** How the last sync ended, of all and of each account, and loans to value. */
export function accountFindings(scope: FindingScope): readonly SQL[] {
  const { accounts, now, roster = [], limits = usualLimits } = scope;
  // A sync would read nothing more where all is retired, or has ended.
  const isAnyRead =
    roster.length === 0 || roster.some(({ state }) => !["retired", "ended"].includes(state));
  const loans = (isFound: SQL) => sql`(
        select account, risk_unit_id as ledger, ltv as detail, last_seen_at as since
        from (
          select distinct on (account, risk_unit_id) account, risk_unit_id, ltv, last_seen_at
          from ltv_snapshots
          where ${isOneOf(accounts)}
          order by account, risk_unit_id, first_seen_at desc
        ) as newest
        left join ${accountFlags(isOneOf(accounts))} using (account)
        where is_retired is not true
          and last_seen_at > ${timeOf(now - ltvKeptMs)}
          and ${isFound}
      ) as found`;
  return [
    findingRows(
      "never-synced",
      [],
      sql`(select '' as account) as one where not exists (select 1 from runs where command = 'sync')`,
    ),
    findingRows("cut-short", ["since", "detail"], sql`${lastSync} where ${isAnyRead}::boolean`),
    findingRows("cannot-sync", ["since", "detail"], failedAccounts(scope)),
    findingRows(
      "ltv-high",
      ["ledger", "since", "detail"],
      loans(sql`ltv > ${limits.ltvMax}::numeric`),
    ),
    findingRows(
      "ltv-behind",
      ["ledger", "since"],
      loans(sql`last_seen_at < ${timeOf(now - limits.maxAgeMs)}`),
    ),
  ];
}

/** The last sync if it did not do all that it began, unless an account cannot be synced: see {@link failedAccounts}. */
const lastSync = sql`(
        select
          '' as account,
          started_at as since,
          coalesce(error, case outcome when 'running' then 'it was killed' else 'it was stopped' end) as detail
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

/**
 * The accounts whose last sync failed so that another try would fail, too. Once that is long ago, they are behind or
 * were never read, which are findings; a run that has planned again shows that the account can be read.
 */
const failedAccounts = ({ accounts, now, limits = usualLimits }: FindingScope): SQL => sql`(
        select distinct on (account) account, started_at as since, error as detail
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
        left join ${accountFlags(isOneOf(accounts))} using (account)
        where is_retired is not true
          and (planned_clock is null or planned_clock < started_at)
        order by account, started_at desc
      ) as failed`;
