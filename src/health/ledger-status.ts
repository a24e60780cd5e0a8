import { sql } from "drizzle-orm";
import type { EpochMs } from "../contract/time.ts";
import { readAccountStates, retiredSince } from "../db/accounts/account-states.ts";
import type { Queryable } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { readExchangeTime } from "../db/exchange-time.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import { readKnownTimes } from "../ledger/known-time.ts";
import type { AccountState } from "../sync/account-state.ts";
import { closedTime } from "../sync/closed-streams.ts";
import type { Interval } from "../sync/intervals.ts";
import type { KnownTime, Stream } from "../sync/store.ts";
import { readStreamRows } from "./stream-rows.ts";
import { type StreamTimes, streamTimes } from "./stream-times.ts";

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
  /** Since when it is retired, and so has no unread time, and nothing of it settles or expires. */
  readonly retiredAt: EpochMs | undefined;
  /** Since when its account is paused: it is not synced, but its unread time expires as ever. */
  readonly pausedAt?: EpochMs | undefined;
  /** Since when its account is in the other mode, so that it cannot be read; otherwise as if retired. */
  readonly closedAt: EpochMs | undefined;
  /** The time before its closing that was not read, and cannot be read while it is closed. */
  readonly closedUnread: readonly Interval[];
};

/** What the exchange told past runs about an account. */
export type AccountStatus = AccountState & { readonly account: string };

export type Status = {
  /** The exchange's time, estimated from the last run. */
  readonly now: EpochMs;
  readonly lastRun: LastRun | undefined;
  readonly streams: readonly StreamStatus[];
  readonly accounts: readonly AccountStatus[];
};

/**
 * The state of each stored stream. The number of queries does not grow with that of streams. Sends the
 * exchange no request.
 * @param settleLagMs how much of the newest time a run leaves unsettled, in ms.
 * @param accounts from whose runs to estimate the time; default all.
 */
export async function readStatus(
  db: Queryable,
  streams: readonly Stream[],
  settleLagMs: number,
  accounts?: readonly string[],
): Promise<Status> {
  return withDatabaseErrors(async () => {
    const lastRun = await readLastRun(db);
    const now = await readExchangeTime(db, accounts);
    const names = new Set(streams.map(({ account }) => account));
    const states = await readAccountStates(db, [...names]);
    const times = await readKnownTimes(db, streams);
    const rows = await readStreamRows(db, streams);
    const found = streams.map((stream): StreamStatus => {
      const known = times.of(stream);
      const state = states.of(stream.account);
      const retiredAt = retiredSince(state, stream.productType);
      const closed = closedStatus(known, stream, state);
      const isWanted = retiredAt === undefined && closed.closedAt === undefined;
      const wanted = isWanted ? {} : nothingWanted;
      const { bills, rejected, reading } = rows.of(stream);
      const at = { now, settleLagMs };
      return {
        ...{ stream, bills, rejected, retiredAt, pausedAt: state.pausedAt },
        ...streamTimes(known, reading, at),
        ...wanted,
        ...closed,
      };
    });
    const told = [...names].map((account) => {
      const { mode, notAvailable, closed } = states.of(account);
      return { account, mode, notAvailable, closed };
    });
    return { now, lastRun, streams: found, accounts: told };
  });
}

type ClosedStatus = Pick<StreamStatus, "closedAt" | "closedUnread">;

function closedStatus(
  known: KnownTime,
  { productType }: Stream,
  { closed }: AccountState,
): ClosedStatus & Partial<Pick<StreamStatus, "unproven">> {
  const closedAt = closed.find((one) => one.productType === productType)?.closedAt;
  if (closedAt === undefined) return { closedAt, closedUnread: [] };
  // Bills that are stored but not proven complete count as unread time.
  return { closedAt, closedUnread: closedTime(known, closedAt).unread, unproven: [] };
}

const nothingWanted = { settling: [], unread: [], behind: [], expiresAt: undefined };

/** The last run of a command that may change the ledger. A mere check would hide how the sync ended. */
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
      ${msOf(sql`started_at`)} as "startedAtMs",
      ${msOf(sql`finished_at`)} as "finishedAtMs",
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
    startedAt: timeFrom(startedAtMs),
    finishedAt: timeFrom(finishedAtMs),
  };
}
