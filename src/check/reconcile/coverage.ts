import { sql } from "drizzle-orm";
import { unifiedProductTypes } from "../../core/contract/product-types.ts";
import type { Transaction } from "../../core/postgres/connect.ts";
import {
  type IntervalsJson,
  intervalsFrom,
  intervalsOf,
  msOf,
  textArray,
} from "../../core/postgres/values.ts";
import { bookedMaxOf } from "../../core/views/chain-order.ts";
import { walletColumn } from "../../core/views/wallet-moves.ts";
import type { Interval } from "../../core/words/intervals.ts";
import { dayMs } from "../../lib/time.ts";

/** The time of a wallet that was read in all of its product types. */
export type Coverage = {
  readonly wallet: string;
  /** Sorted, and apart from each other. */
  readonly read: readonly Interval[];
  /** No balance from this time on is judged, since late bills may come. Infinity if none can. */
  readonly reconciledThrough: number;
  /** No balance before it is judged: one of the product types may have moved it. */
  readonly sharedFrom: number | undefined;
};

/**
 * Reads the coverage of each wallet.
 *
 * All categories of a unified account share its balance. While one of them was never read, no balance is
 * judged; later, none before `sharedFrom`, where the coverage of all of them begins. A category that the
 * key may not read does not count. `reconciledThrough` is some seconds before the end of coverage, because bills
 * booked in those seconds may follow bills with later times. Where all ledgers have ended, no late bill can
 * come: a balance that does not follow beside unread time is reported as such.
 */
export async function readCoverage(
  tx: Transaction,
  account: string,
): Promise<ReadonlyMap<string, Coverage>> {
  const { rows } = await tx.execute<{
    wallet: string;
    periods: IntervalsJson;
    is_unread: boolean;
    reconciled_through: string | null;
    shared_from: string | null;
  }>(sql`
    with read as (
      select
        product_type,
        -- Between covered times, recovered bills lead from one balance to the next.
        covered + recovered * tstzmultirange(tstzrange(lower(covered), null)) as time,
        upper(covered) as reconciled_through, not_available_since, ended_at
      from ledgers
      where account = ${account}
    ),
    unread as (
      select 'UTA' as wallet
      from unnest(${textArray(unifiedProductTypes)}::text[]) as wanted (product_type)
      left join read using (product_type)
      where reconciled_through is null
        and not_available_since is null
    ),
    wallets as (
      select
        ${walletColumn("product_type")} as wallet,
        range_intersect_agg(time) as time,
        bool_and(ended_at is not null) as is_ended,
        min(reconciled_through) - ${bookedMaxOf("min(product_type)")} as reconciled_through,
        case when count(*) > 1 then lower(range_intersect_agg(time)) end as shared_from
      from read
      where time <> '{}'
      group by 1
    )
    select
      wallet,
      ${intervalsOf(sql`time`)} as periods,
      wallet in (select wallet from unread) as is_unread,
      case when not is_ended then ${msOf(sql`reconciled_through`)} end as reconciled_through,
      ${msOf(sql`shared_from`)} as shared_from
    from wallets`);
  return new Map(
    rows.map(({ wallet, periods, is_unread, reconciled_through, shared_from }) => [
      wallet,
      {
        wallet,
        read: is_unread ? [] : intervalsFrom(periods),
        reconciledThrough: is_unread
          ? Number.NEGATIVE_INFINITY
          : reconciled_through === null
            ? Number.POSITIVE_INFINITY
            : Number(reconciled_through),
        sharedFrom: shared_from === null ? undefined : Number(shared_from),
      },
    ]),
  );
}

/**
 * The unread part of a period, both ends included: from its first unread time to its last.
 * @returns undefined if all was read.
 */
export function unreadPart(
  read: readonly Interval[],
  from: number,
  to: number,
): { readonly from: number; readonly to: number } | undefined {
  const holding = (time: number) => read.find((period) => period.from <= time && time < period.to);
  const first = holding(from)?.to ?? from;
  return first > to ? undefined : { from: first, to: holding(to)?.from ?? to };
}

/** Whether a day, counted from the epoch, was read. */
export const isDayRead = (read: readonly Interval[], day: number): boolean =>
  read.some(({ from, to }) => from <= day * dayMs && (day + 1) * dayMs <= to);
