import { sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { accountsOf, groupByStream, wantedStreams } from "../ledger/known-time.ts";
import type { Stream } from "../sync/store.ts";
import { type BreakCount, countBreaks } from "./break-counts.ts";
import { type RecordsStatus, readRecords } from "./records-status.ts";
import { type RunFacts, readRunFacts } from "./run-facts.ts";
import { readStatus, type Status } from "./status.ts";

/** What an operator watches: shown by the metrics, and judged by `status --check`. */
export type Observations = {
  readonly status: Status;
  readonly records: RecordsStatus;
  readonly breaks: readonly BreakCount[];
  readonly runs: readonly RunFacts[];
  readonly readingOf: (stream: Stream) => LastReading;
};

/** Times of the database's clock. */
export type LastReading = {
  /** When a window was last read to its end; undefined where none was. */
  readonly succeededAt: EpochMs | undefined;
  /** When time was last recorded as lost; undefined where none is. */
  readonly lostAt: EpochMs | undefined;
};

/**
 * Reads the observations. The number of queries does not grow with that of accounts. Sends the exchange no
 * request.
 * @param settleLagMs how much of the newest time a run leaves unsettled, in ms.
 * @param accounts only these; default all.
 * @param breaksOf the accounts whose breaks are counted; default `accounts`.
 */
export async function readObservations(
  db: Queryable,
  streams: readonly Stream[],
  settleLagMs: number,
  accounts?: readonly string[],
  breaksOf = accounts,
): Promise<Observations> {
  const status = await readStatus(db, streams, settleLagMs, accounts);
  const records = await readRecords(db, accounts);
  return withDatabaseErrors(async () => ({
    status,
    records,
    breaks: await countBreaks(db, breaksOf),
    runs: await readRunFacts(db),
    readingOf: await readLastReadings(db, streams),
  }));
}

async function readLastReadings(
  db: Queryable,
  streams: readonly Stream[],
): Promise<Observations["readingOf"]> {
  const { rows } = await db.execute<{
    account: string;
    product_type: string;
    succeeded_at: string | null;
    lost_at: string | null;
  }>(sql`
    select
      account,
      product_type,
      ${msOf(sql`read_at`)} as succeeded_at,
      ${msOf(sql`lost_at`)} as lost_at
    from streams
    join ${wantedStreams(streams)} using (account, product_type)
    where ${isOneOf(accountsOf(streams))}`);
  const byStream = groupByStream(rows);
  return (stream) => {
    const [row] = byStream.of(stream);
    return {
      succeededAt: timeFrom(row?.succeeded_at ?? null),
      lostAt: timeFrom(row?.lost_at ?? null),
    };
  };
}
