import { sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { isOneOf, msOf, textArray, timeFrom } from "../db/values.ts";
import type { KnownTime, Stream } from "../sync/store.ts";
import { isAnew } from "../sync/walk/pages.ts";

type SpanRow = {
  account: string;
  product_type: string;
  state: "covered" | "lost" | "recovered" | "open";
  from: string;
  to: string;
  cursor: string | null;
  started_at: string | null;
};

/** What is known of a ledger's time. */
export async function readKnownTime(db: Queryable, stream: Stream): Promise<KnownTime> {
  return (await readKnownTimes(db, [stream])).of(stream);
}

/** What is known of each of these ledgers' time, read at once. */
export async function readKnownTimes(
  db: Queryable,
  streams: readonly Stream[],
): Promise<{ readonly of: (stream: Stream) => KnownTime }> {
  const isOwn = isOneOf(accountsOf(streams));
  const spans = (state: "covered" | "lost" | "recovered") => sql`
      select
        account, product_type, ${sql.raw(`'${state}'`)} as state, unnest(${sql.raw(state)}) as span,
        null as cursor, null::timestamptz as started_at
      from streams
      where ${isOwn}`;
  const { rows } = await db.execute<SpanRow>(sql`
    select
      account,
      product_type,
      state,
      ${msOf(sql`lower(span)`)} as from,
      ${msOf(sql`upper(span)`)} as to,
      cursor,
      ${msOf(sql`started_at`)} as started_at
    from (
      ${spans("covered")}
      union all
      ${spans("lost")}
      union all
      ${spans("recovered")}
      union all
      select account, product_type, 'open', tstzrange(window_start, window_end), cursor, started_at
      from windows
      where ${isOwn}
    ) as known
    join ${wantedStreams(streams)} using (account, product_type)
    order by account, product_type, span`);
  const byStream = groupByStream(rows);
  return { of: (stream) => knownTimeOf(byStream.of(stream)) };
}

function knownTimeOf(rows: readonly SpanRow[]): KnownTime {
  const spanOf = ({ from, to }: SpanRow) => ({ from: timeFrom(from), to: timeFrom(to) });
  const of = (wanted: SpanRow["state"]) => rows.filter(({ state }) => state === wanted);
  return {
    coverage: of("covered").map(spanOf),
    lost: of("lost").map(spanOf),
    recovered: of("recovered").map(spanOf),
    open: of("open").map((row) => ({
      window: spanOf(row),
      ...(row.cursor === null || isAnew(row.cursor) ? {} : { cursor: row.cursor }),
      ...(row.started_at === null ? {} : { startedAt: timeFrom(row.started_at) }),
    })),
  };
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
