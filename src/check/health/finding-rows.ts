import { type SQL, sql } from "drizzle-orm";
import type { RosterLedger } from "../../accounts/roster.ts";
import { type ProductType, walletOf } from "../../core/contract/product-types.ts";
import { timeOf } from "../../core/postgres/values.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { type EpochMs, hourMs } from "../../lib/time.ts";
import type { Kind } from "./finding-kinds.ts";

export type Limits = { readonly maxAgeMs: number; readonly ltvMax: number };

/** How far behind a ledger may be, and how high a loan to value. */
export const usualLimits: Limits = { maxAgeMs: 3 * hourMs, ltvMax: 0.8 };

/** A span of time, perhaps without a start or an end. */
export type Span = { readonly [end in keyof Interval]?: Interval[end] | undefined };

/** Of what findings are asked for. */
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

/** The columns of a finding's row, each as found rows have it, and its value where they do not. */
const columns = {
  ledger: [sql`ledger::text`, sql`''`],
  coin: [sql`coin::text`, sql`''`],
  since: [sql`since::timestamptz`, sql`null::timestamptz`],
  until: [sql`until::timestamptz`, sql`null::timestamptz`],
  count: [sql`count::bigint`, sql`1`],
  unreadMs: [sql`unread_ms::float8`, sql`null::float8`],
  detail: [sql`detail::text`, sql`''`],
  difference: [sql`difference::text`, sql`null::text`],
  breakIds: [sql`break_ids::text`, sql`''`],
  isRepairable: [sql`is_repairable`, sql`false`],
} as const;

type Column = keyof typeof columns;

/** The names of the columns of {@link findingRows}. */
export const findingColumns = sql`
      kind, account, ledger, coin, since, until, count, unread_ms, detail, difference, break_ids, is_repairable`;

/**
 * A finding for each of these rows, which have its account.
 * @param given which of its columns they have, too.
 */
export const findingRows = (kind: Kind | SQL, given: readonly Column[], rows: SQL): SQL => sql`
    select ${typeof kind === "string" ? sql`${kind}::text` : kind}, account::text, ${sql.join(
      Object.entries(columns).map(([name, [value, otherwise]]) =>
        given.some((one) => one === name) ? value : otherwise,
      ),
      sql`, `,
    )}
    from ${rows}`;

export const isWithinSpan = (at: SQL, span: Span = {}): SQL => sql`
          ${span.to === undefined ? sql`true` : sql`${at} < ${timeOf(span.to)}`}
          and ${span.from === undefined ? sql`true` : sql`${at} >= ${timeOf(span.from)}`}`;

/** Product types, and the wallets that they share: a break is of a wallet. */
export const withWallets = (productTypes: FindingScope["productTypes"]) =>
  productTypes && [...new Set([...productTypes, ...productTypes.map(walletOf)])];
