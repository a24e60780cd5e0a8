import { sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { union } from "../sync/intervals.ts";
import type { KnownTime, Stream, Walk } from "../sync/store.ts";
import { isAnew } from "../sync/walk/pages.ts";

type WindowRow = {
  account: string;
  product_type: string;
  state: "open" | "complete" | "expired";
  from: string;
  to: string;
  cursor: string | null;
  started_at: string | null;
};

/** What is recorded of a stream's time. */
export async function readKnownTime(db: Queryable, stream: Stream): Promise<KnownTime> {
  return (await readKnownTimes(db, [stream])).of(stream);
}

/** What is recorded of each of these streams' time, read at once. */
export async function readKnownTimes(
  db: Queryable,
  streams: readonly Stream[],
): Promise<{ readonly of: (stream: Stream) => KnownTime }> {
  const { rows } = await db.execute<WindowRow>(sql`
    select
      account,
      product_type,
      state,
      ${msOf(sql`window_start`)} as from,
      ${msOf(sql`window_end`)} as to,
      cursor,
      ${msOf(sql`started_at`)} as started_at
    from checkpoints
    join ${wantedStreams(streams)} using (account, product_type)
    where ${isOneOf(accountsOf(streams))}
    order by account, product_type, window_start, window_end`);
  const byStream = groupByStream(rows);
  return { of: (stream) => knownTimeOf(byStream.of(stream)) };
}

/**
 * The streams' accounts, for a condition of constants beside the join: by a join alone, a distributed
 * database would read the rows of all accounts.
 */
export const accountsOf = (streams: readonly Stream[]): readonly string[] => [
  ...new Set(streams.map(({ account }) => account)),
];

/** The streams as a table, to be joined by account and product type. */
export const wantedStreams = (streams: readonly Stream[]) => sql`
    unnest(
      ${textArray(streams.map(({ account }) => account))}::text[],
      ${textArray(streams.map(({ productType }) => productType))}::text[]
    ) as wanted (account, product_type)`;

/** Groups rows by stream. A stream without rows has an empty group. */
export function groupByStream<Row extends { account: string; product_type: string }>(
  rows: readonly Row[],
): { readonly of: (stream: Stream) => readonly Row[] } {
  const nameOf = (...names: readonly string[]) => JSON.stringify(names);
  const groups = Map.groupBy(rows, (row) => nameOf(row.account, row.product_type));
  return { of: ({ account, productType }) => groups.get(nameOf(account, productType)) ?? [] };
}

function knownTimeOf(rows: readonly WindowRow[]): KnownTime {
  const walks = rows.map((row) => ({
    state: row.state,
    window: { from: timeFrom(row.from), to: timeFrom(row.to) },
    ...(row.cursor === null || isAnew(row.cursor) ? {} : { cursor: row.cursor }),
    ...(row.started_at === null ? {} : { startedAt: timeFrom(row.started_at) }),
  }));
  const spansOf = (wanted: "complete" | "expired") =>
    union(walks.filter(({ state }) => state === wanted).map(({ window }) => window));
  return {
    coverage: spansOf("complete"),
    expired: spansOf("expired"),
    open: walks.filter(({ state }) => state === "open").map(({ state: _, ...walk }): Walk => walk),
  };
}
