import { sql } from "drizzle-orm";
import { type EpochMs, epochMs } from "../contract/time.ts";
import { readAccountStates } from "../db/accounts/account-states.ts";
import { readRetirements, retiredSince } from "../db/accounts/retirement.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { readKnownTime } from "../db/ledger/checkpoints.ts";
import type { AccountState } from "../sync/account-state.ts";
import { closedTime } from "../sync/closed-time.ts";
import { type Interval, interval } from "../sync/intervals.ts";
import type { Stream } from "../sync/store.ts";
import { type Reading, type StreamTimes, streamTimes } from "./stream-times.ts";

export type LastRun = {
  readonly command: string;
  readonly startedAt: EpochMs;
  readonly finishedAt: EpochMs | undefined;
  readonly outcome: string;
  readonly error: string | null;
};

export type StreamStatus = StreamTimes & {
  readonly stream: Stream;
  readonly bills: number;
  readonly rejected: number;
  /** Since when it is read no more; nothing of it is a gap, settles or expires then. */
  readonly retiredAt: EpochMs | undefined;
  /** Since when its account is of the other mode, and nothing of it can be read; the same holds then. */
  readonly closedAt: EpochMs | undefined;
  /** What was not read of it before it was closed, and cannot be had while it is. */
  readonly closedUnread: readonly Interval[];
};

/** What runs were told of an account. */
export type AccountStatus = AccountState & { readonly account: string };

export type Status = {
  /** The exchange's time by now, as far as it is known here. */
  readonly now: EpochMs;
  readonly lastRun: LastRun | undefined;
  readonly streams: readonly StreamStatus[];
  readonly accounts: readonly AccountStatus[];
};

/**
 * What the database holds, stream by stream. Asks the exchange nothing.
 * @param settleLagMs the newest time that a run leaves unsettled, in ms.
 */
export async function readStatus(
  db: Queryable,
  streams: readonly Stream[],
  settleLagMs: number,
): Promise<Status> {
  return withDatabaseErrors(async () => {
    const lastRun = await readLastRun(db);
    const now = await readExchangeTime(db);
    const retirements = await readRetirements(db);
    const states = await readAccountStates(db);
    const found: StreamStatus[] = [];
    for (const stream of streams) {
      const status = await readStream(db, stream, { now, settleLagMs });
      const retiredAt = retiredSince(retirements, stream);
      const closed = await readClosed(db, stream, states.of(stream.account));
      const isWanted = retiredAt === undefined && closed.closedAt === undefined;
      const wanted = isWanted ? {} : nothingWanted;
      found.push({ ...status, ...wanted, ...closed, retiredAt });
    }
    const names = new Set(streams.map(({ account }) => account));
    const accounts = [...names].map((account) => ({ account, ...states.of(account) }));
    return { now, lastRun, streams: found, accounts };
  });
}

type ClosedStatus = Pick<StreamStatus, "closedAt" | "closedUnread">;

async function readClosed(
  db: Queryable,
  stream: Stream,
  { closed }: AccountState,
): Promise<ClosedStatus & Partial<Pick<StreamStatus, "unproven">>> {
  const closedAt = closed.find(({ productType }) => productType === stream.productType)?.closedAt;
  if (closedAt === undefined) return { closedAt, closedUnread: [] };
  const { unread } = closedTime(await readKnownTime(db, stream), closedAt);
  // What is stored of it and not proven counts as not read.
  return { closedAt, closedUnread: unread, unproven: [] };
}

const nothingWanted = { settling: [], gaps: [], unread: [], expiresAt: undefined };

async function readStream(
  db: Queryable,
  stream: Stream,
  at: Parameters<typeof streamTimes>[2],
): Promise<Omit<StreamStatus, "retiredAt" | keyof ClosedStatus>> {
  const known = await readKnownTime(db, stream);
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
  return {
    stream,
    bills: Number(rows[0]?.bills ?? 0),
    rejected: Number(rows[0]?.rejected),
    ...streamTimes(known, await readReading(db, stream), at),
  };
}

/** A window is read from its newest bill on: down to its cursor's, all is stored. */
export async function readReading(
  db: Queryable,
  { account, productType }: Stream,
): Promise<Reading> {
  const { rows } = await db.execute<{
    to: string;
    read_from: string | null;
    started_at: string;
    is_last_run: boolean;
  }>(sql`
    select
      extract(epoch from window_end) * 1000 as to,
      case
        when state = 'open' then extract(epoch from greatest(window_start, c_time)) * 1000
      end as read_from,
      extract(epoch from started_at) * 1000 as started_at,
      checkpoints.run_id = first_value(checkpoints.run_id) over (order by started_at desc)
        as is_last_run
    from checkpoints
    left join bills
      on bills.account = checkpoints.account
      and bills.product_type = checkpoints.product_type
      and bills.bill_id = checkpoints.cursor
    where checkpoints.account = ${account}
      and checkpoints.product_type = ${productType}
      and started_at is not null`);
  return {
    parts: rows.flatMap(({ read_from, to }) =>
      // Of the cursor's own millisecond, more may be on the next page.
      read_from === null ? [] : interval(Number(read_from) + 1, Number(to)),
    ),
    startedAt: rows
      .filter(({ is_last_run }) => is_last_run)
      .map(({ started_at }) => epochMs(Number(started_at))),
  };
}

/** Of those that may change the ledger: a check of it would hide how its sync ended. */
async function readLastRun(db: Queryable): Promise<LastRun | undefined> {
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
      and command <> 'reconcile'
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
