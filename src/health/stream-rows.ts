import { sql } from "drizzle-orm";
import type { Queryable } from "../db/connect.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { accountsOf, groupByStream, wantedStreams } from "../ledger/known-time.ts";
import { interval } from "../sync/intervals.ts";
import type { Stream } from "../sync/store.ts";
import type { Reading } from "./stream-times.ts";

/** How many rows of a stream are stored. */
export type StreamRows = {
  readonly bills: number;
  /** Unresolved rejected rows. */
  readonly rejected: number;
  readonly reading: Reading;
};

/** The counts of several streams, read at once. */
export async function readStreamRows(
  db: Queryable,
  streams: readonly Stream[],
): Promise<{ readonly of: (stream: Stream) => StreamRows }> {
  const counts = await readCounts(db, streams);
  const readings = await readReadings(db, streams);
  return {
    of(stream) {
      const [row] = counts.of(stream);
      return {
        bills: Number(row?.bills ?? 0),
        rejected: Number(row?.rejected ?? 0),
        reading: readingOf(readings.of(stream)),
      };
    },
  };
}

async function readCounts(db: Queryable, streams: readonly Stream[]) {
  const isOwn = isOneOf(accountsOf(streams));
  const { rows } = await db.execute<{
    account: string;
    product_type: string;
    bills: string | null;
    rejected: string | null;
  }>(sql`
    select
      account,
      product_type,
      counted.bills,
      rejected.rows as rejected
    from ${wantedStreams(streams)}
    left join (
      select account, product_type, bills
      from streams
      where ${isOwn}
    ) as counted using (account, product_type)
    left join (
      select account, product_type, count(*) as rows
      from rejected_bills
      where resolved_at is null
        and ${isOwn}
      group by account, product_type
    ) as rejected using (account, product_type)`);
  return groupByStream(rows);
}

/** The parts of a stream's open windows that were read, and when a run last planned. */
export const readReading = async (db: Queryable, stream: Stream): Promise<Reading> =>
  readingOf((await readReadings(db, [stream])).of(stream));

type ReadingRow = {
  account: string;
  product_type: string;
  planned_at: string | null;
  read_from: string | null;
  to: string;
};

/** Windows are read from their newest bill backwards: all bills down to the cursor's are stored. */
async function readReadings(db: Queryable, streams: readonly Stream[]) {
  const isOwn = isOneOf(accountsOf(streams));
  const { rows } = await db.execute<ReadingRow>(sql`
    select
      account,
      product_type,
      ${msOf(sql`planned_at`)} as planned_at,
      case when c_time is not null then ${msOf(sql`greatest(window_start, c_time)`)} end as read_from,
      ${msOf(sql`window_end`)} as to
    from (
      select account, product_type, planned_at
      from streams
      where ${isOwn}
    ) as planned
    join ${wantedStreams(streams)} using (account, product_type)
    left join (
      select account, product_type, window_start, window_end, cursor as bill_id
      from windows
      where ${isOwn}
    ) as begun using (account, product_type)
    left join (
      select account, product_type, bill_id, c_time
      from bills
      where ${isOwn}
    ) as bills using (account, product_type, bill_id)`);
  return groupByStream(rows);
}

const readingOf = (rows: readonly ReadingRow[]): Reading => ({
  parts: rows.flatMap(({ read_from, to }) =>
    // Not the cursor's own millisecond, of which more bills may be on the next page.
    read_from === null ? [] : interval(Number(read_from) + 1, Number(to)),
  ),
  plannedAt: timeFrom(rows[0]?.planned_at ?? null),
});
