import { type SQL, sql } from "drizzle-orm";
import { isNeverRead, type RosterLedger } from "../../accounts/roster.ts";
import { walletOf } from "../../core/contract/product-types.ts";
import type { Queryable } from "../../core/postgres/connect.ts";
import { isOneOf, msOf, textArray, timeFrom } from "../../core/postgres/values.ts";
import { keyOf, storedLess, typeDaySums } from "../../core/store/day-sums.ts";
import { accountFindings } from "./account-findings.ts";
import { balanceFinding } from "./balances.ts";
import { breaksNamedMax, type Finding, type Kind, kindNames } from "./kinds.ts";
import { breakFindings, rowFindings, timeFindings } from "./row-findings.ts";
import { type FindingScope, type Span, select, timeOf } from "./select.ts";
import type { Accepted } from "./verdict.ts";

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

/**
 * The ledgers whose bills of a period differ from the sums that were kept when they were stored: somebody changed or
 * deleted rows, and no full check has seen it yet. It reads the period's bills, so only what is made of them asks for it.
 */
function changedBills({ accounts }: FindingScope, { from, to }: Span): SQL {
  const startOf = (time: number) => sql`date_trunc('day', ${timeOf(time)}, 'UTC')`;
  const first = from === undefined ? sql`'-infinity'::timestamptz` : startOf(from);
  const last = to === undefined ? sql`'infinity'::timestamptz` : startOf(to - 1);
  const stored = sql`${isOneOf(accounts)}
          and day between (${first} at time zone 'UTC')::date and (${last} at time zone 'UTC')::date`;
  const billsOfPeriod = {
    from: sql`bills`,
    where: sql`${isOneOf(accounts)} and c_time >= ${first} and c_time < ${last} + interval '24 hours'`,
  };
  return select(
    "broken",
    {
      ledger: sql`product_type`,
      since: sql`day::timestamp at time zone 'UTC'`,
      detail: sql`'bills were changed, added or deleted by hand, on ' || days || case days when 1 then ' day' else ' days' end`,
    },
    sql`(
      select account, product_type, min(day) as day, count(distinct day) as days
      from (
        select account, product_type, day
        from ${storedLess(typeDaySums, stored, billsOfPeriod)}
        group by ${keyOf(typeDaySums)}
        having sum(bills) <> 0 or sum(amount_in + amount_out) <> 0 or sum(fee_in + fee_out) <> 0
      ) as wrong
      group by account, product_type
    ) as found`,
  );
}

/**
 * A select a kind. Each names its accounts, and joins by account alone, so that a distributed database reads
 * each account on its own node.
 */
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
    ...(span === undefined ? [] : [changedBills(scope, span)]),
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
