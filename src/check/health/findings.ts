import { type SQL, sql } from "drizzle-orm";
import type { RosterLedger } from "../../accounts/roster.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import { msOf, textArray, timeFrom, timeOf } from "../../core/postgres/values.ts";
import { accountFindings } from "./account-findings.ts";
import { breaksNamedMax, type Finding, type Kind, kindNames } from "./finding-kinds.ts";
import { type FindingScope, findingColumns, withWallets } from "./finding-rows.ts";
import { missingFindings } from "./missing-findings.ts";
import { sumFindings } from "./sum-findings.ts";

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

/** A select a kind. Each names its accounts. */
function findings(scope: FindingScope): SQL {
  const { span, productTypes } = scope;
  const names = withWallets(productTypes);
  const all = [
    ...missingFindings(scope),
    ...sumFindings(scope),
    ...(productTypes === undefined && span === undefined ? accountFindings(scope) : []),
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
    select ${findingColumns}
    from (${sql.join(all, sql` union all `)}) as found (${findingColumns})
    where ${sql.join(isWithin, sql` and `)}`;
}
