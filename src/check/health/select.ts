import { type SQL, sql } from "drizzle-orm";
import type { RosterLedger } from "../../accounts/roster.ts";
import type { ProductType } from "../../core/contract/product-types.ts";
import { isOneOf } from "../../core/postgres/values.ts";
import { accountFlags } from "../../core/views/ledgers.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { type EpochMs, epochMs, hourMs, isoTime } from "../../lib/time.ts";
import type { Finding, Kind } from "./kinds.ts";

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

/** @param rows with an account. */
export const select = (
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
export const withFlags = (rows: SQL, accounts: readonly string[] | undefined): SQL => sql`(
      select
        flagged.*,
        coalesce(is_retired, false) as is_retired
      from ${rows} as flagged
      left join ${accountFlags(isOneOf(accounts))} using (account)
    ) as flagged`;

/** A time of this program in a statement. */
export const timeOf = (time: number): SQL => sql`${isoTime(epochMs(time))}::timestamptz`;
