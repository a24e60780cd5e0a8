import { sql } from "drizzle-orm";
import { type EpochMs, epochMs, historyMs } from "../contract/time.ts";
import { readKnownTime } from "../db/checkpoints.ts";
import type { Database } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { type Interval, lengthMs, union } from "../sync/intervals.ts";
import { completeThrough, gapsOf, planStream } from "../sync/plan.ts";
import type { Stream } from "../sync/store.ts";

export type LastRun = {
  readonly command: string;
  readonly startedAt: EpochMs;
  readonly finishedAt: EpochMs | undefined;
  readonly outcome: string;
  readonly error: string | null;
};

export type StreamStatus = {
  readonly stream: Stream;
  readonly bills: number;
  readonly rejected: number;
  /** Up to when nothing is missing; undefined before the first complete window. */
  readonly completeThrough: EpochMs | undefined;
  readonly coverage: readonly Interval[];
  /** Time without coverage that can still be read; the newest reaches up to now. */
  readonly gaps: readonly Interval[];
  /** Time that is lost. */
  readonly expired: readonly Interval[];
  /** When the oldest gap begins to be lost; undefined without a gap. */
  readonly expiresAt: EpochMs | undefined;
};

export type Status = {
  readonly lastRun: LastRun | undefined;
  readonly streams: readonly StreamStatus[];
};

/** What the database holds, stream by stream. Asks the exchange nothing. */
export async function readStatus(
  db: Database,
  streams: readonly Stream[],
  now: EpochMs,
): Promise<Status> {
  return withDatabaseErrors(async () => {
    const lastRun = await readLastRun(db);
    const found: StreamStatus[] = [];
    for (const stream of streams) found.push(await readStream(db, stream, now));
    return { lastRun, streams: found };
  });
}

async function readStream(db: Database, stream: Stream, now: EpochMs): Promise<StreamStatus> {
  const known = await readKnownTime(db, stream);
  const gaps = gapsOf(known, now);
  const { rows } = await db.execute<{ bills: string | null; rejected: string }>(sql`
    select
      (
        select bills
        from bill_counts
        where account = ${stream.account}
          and product_type = ${stream.productType}
      ) as bills,
      (
        select count(*)
        from rejected_bills
        where account = ${stream.account}
          and product_type = ${stream.productType}
          and resolved_at is null
      ) as rejected`);
  const [oldest] = gaps;
  return {
    stream,
    bills: Number(rows[0]?.bills ?? 0),
    rejected: Number(rows[0]?.rejected),
    completeThrough: completeThrough(known, now),
    coverage: known.coverage,
    gaps,
    // What fell behind the horizon since the last run is lost too, before a run records it.
    expired: union([
      ...known.expired,
      ...planStream(stream, known, { now, settleLagMs: 0 }).expired,
    ]),
    expiresAt: oldest === undefined ? undefined : epochMs(oldest.from + historyMs),
  };
}

async function readLastRun(db: Database): Promise<LastRun | undefined> {
  const { rows } = await db.execute<{
    command: string;
    startedAtMs: string;
    finishedAtMs: string | null;
    outcome: string;
    error: string | null;
  }>(sql`
    select
      command,
      extract(epoch from started_at) * 1000 as "startedAtMs",
      extract(epoch from finished_at) * 1000 as "finishedAtMs",
      outcome,
      error
    from sync_runs
    where outcome <> 'held'
    order by started_at desc
    limit 1`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { startedAtMs, finishedAtMs, ...run } = row;
  return {
    ...run,
    startedAt: epochMs(Number(startedAtMs)),
    finishedAt: finishedAtMs === null ? undefined : epochMs(Number(finishedAtMs)),
  };
}

/** The share of a stream's known time that is proven complete, from 0 to 1. */
export function coverageShare({ coverage, gaps, expired }: StreamStatus): number {
  const coveredMs = lengthMs(coverage);
  const wholeMs = coveredMs + lengthMs(gaps) + lengthMs(expired);
  return wholeMs === 0 ? 0 : coveredMs / wholeMs;
}
