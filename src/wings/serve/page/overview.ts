import { sql } from "drizzle-orm";
import type { ReadRoster } from "../../../accounts/roster.ts";
import { readAccepted } from "../../../check/health/accepted.ts";
import type { Finding, Kind } from "../../../check/health/finding-kinds.ts";
import type { Limits } from "../../../check/health/finding-rows.ts";
import { countFindings, readFindings } from "../../../check/health/findings.ts";
import { type Verdict, verdictOf } from "../../../check/health/verdict.ts";
import { walletOf } from "../../../core/contract/product-types.ts";
import type { Transaction } from "../../../core/postgres/connect.ts";
import { msOf, onlyRow, textArray, timeFrom } from "../../../core/postgres/values.ts";
import { readExchangeTime } from "../../../core/store/known-time.ts";
import { isLedger } from "../../../core/views/ledgers.ts";
import { walletColumn } from "../../../core/views/wallet-moves.ts";
import type { EpochMs } from "../../../lib/time.ts";
import { readIsSyncAtWork } from "./runs.ts";

// What is known of all ledgers at one moment.

export type OverviewDeps = {
  readonly readRoster: ReadRoster;
  readonly limits: Limits;
};

/** A period of a ledger's time. Times are in ms since the Unix epoch. */
export type Period = {
  readonly state: "complete" | "lost" | "recovered" | "unread";
  readonly from: EpochMs;
  readonly to: EpochMs;
};

export type Ledger = {
  readonly account: string;
  readonly productType: string;
  readonly bills: number;
  readonly periods: readonly Period[];
  readonly findings: readonly Finding[];
};

export type Overview = {
  readonly now: EpochMs;
  readonly verdict: Verdict;
  /** The worst ones. */
  readonly findings: readonly Finding[];
  /** How many there are. */
  readonly findingCount: number;
  readonly ledgers: readonly Ledger[];
  /** How many ledgers are stored: the listed ones are the worst, and then the largest. */
  readonly stored: number;
  readonly bills: number;
  /** How many balances were checked. */
  readonly checked: number;
  readonly isSyncAtWork: boolean;
  /** The text that listed accounts' names contain; empty for all. */
  readonly find: string;
};

const listedMax = 12;
const findingsMax = 1_000;

export async function readOverview(
  tx: Transaction,
  { readRoster, limits }: OverviewDeps,
  find: string,
): Promise<Overview> {
  const now = await readExchangeTime(tx);
  const scope = { now, roster: await readRoster(tx), limits };
  const isAtWork = await readIsSyncAtWork(tx);
  // A sync that is at work may close these findings.
  const isKnown = ({ kind }: Pick<Finding, "kind">) => !(isAtWork && closedBySync.has(kind));
  const worst = await readFindings(tx, scope, { limit: findingsMax });
  const findings = worst.filter(isKnown);
  // Judging all ledgers takes most of the time to the page's first bytes, so it is not done twice without need.
  const counts =
    worst.length < findingsMax
      ? findings.map(() => ({ findings: 1 }))
      : (await countFindings(tx, scope)).filter(isKnown);
  const totals = await readTotals(tx);
  const isSought = ({ account }: Finding) => account.toLowerCase().includes(find.toLowerCase());
  return {
    ...{ now, findings, find },
    verdict: verdictOf(findings, await readAccepted(tx, { accounts: undefined })),
    findingCount: counts.reduce((sum, count) => sum + count.findings, 0),
    ...totals,
    ledgers: await readLedgers(tx, findings.filter(isSought), find),
    isSyncAtWork: isAtWork,
  };
}

const closedBySync: ReadonlySet<Kind> = new Set([
  ...(["never-synced", "never-read", "expiring", "unread", "behind"] as const),
  ...(["ltv-behind", "unchecked"] as const),
]);

type Totals = Pick<Overview, "stored" | "bills" | "checked">;

async function readTotals(tx: Transaction): Promise<Totals> {
  const { rows } = await tx.execute<Totals>(sql`
    select
      count(*)::float8 as stored,
      coalesce(sum(bills), 0)::float8 as bills,
      (select coalesce(sum(tested), 0)::float8 from reconciled_chains) as checked
    from ledgers
    where ${isLedger}`);
  return onlyRow(rows, "the totals");
}

/** Those with findings first, worst first; then those with most bills. */
async function readLedgers(
  tx: Transaction,
  findings: readonly Finding[],
  find: string,
): Promise<readonly Ledger[]> {
  const places = [...new Set(findings.map(({ account, ledger }) => `${account}\n${ledger}`))];
  const { rows } = await tx.execute<Omit<Ledger, "periods" | "findings">>(sql`
    select
      account,
      product_type as "productType",
      bills::float8
    from ledgers
    where ${isLedger}
      and strpos(lower(account), lower(${find})) > 0
    order by
      least(
        array_position(${textArray(places)}::text[], account || E'\n' || product_type),
        array_position(
          ${textArray(places)}::text[],
          account || E'\n' || ${walletColumn("product_type")}
        )
      ),
      bills desc,
      account,
      product_type
    limit ${listedMax}`);
  const { rows: spans } = await tx.execute<
    Record<"account" | "productType" | "state" | "from" | "to", string>
  >(sql`
    select
      account,
      product_type as "productType",
      state,
      ${msOf(sql`period_start`)} as from,
      ${msOf(sql`period_end`)} as to
    from analytics.time_states
    where account = any(${textArray(rows.map(({ account }) => account))}::text[])
    order by period_start`);
  return rows.map((row) => ({
    ...row,
    periods: spans
      .filter((span) => span.account === row.account && span.productType === row.productType)
      .map((span) => ({
        state: span.state as Period["state"],
        from: timeFrom(span.from),
        to: timeFrom(span.to),
      })),
    findings: findings.filter(
      ({ account, ledger }) =>
        account === row.account &&
        [row.productType, walletOf(row.productType as never)].includes(ledger),
    ),
  }));
}

/** The end of a ledger's newest read time; undefined where time before it is missing, or lost and not accepted. */
export function throughOf({ periods, findings }: Ledger): EpochMs | undefined {
  const isLost = findings.some(({ kind }) => kind === "lost");
  const isWhole = periods.every(({ state }) => (state === "lost" ? !isLost : state !== "unread"));
  return isWhole ? periods.at(-1)?.to : undefined;
}
