import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { epochMs, minuteMs } from "../../src/contract/time.ts";
import type { Database } from "../../src/db/connect.ts";
import { openStore } from "../../src/ledger/ledger-store.ts";
import type { Interval } from "../../src/sync/intervals.ts";
import type { PageCommit, Store, Stream } from "../../src/sync/store.ts";
import { aStream } from "./bills.ts";

/** When the windows of these tests begin, with milliseconds that rounding would lose. */
export const origin = epochMs(Date.UTC(2026, 2, 1, 12, 34, 56, 789));

/** A window, in minutes since the origin. */
export const minutes = (from: number, to: number): Interval => ({
  from: epochMs(origin + from * minuteMs),
  to: epochMs(origin + to * minuteMs),
});

export type HeldStream = { readonly stream: Stream; readonly store: Store; readonly runId: string };

/** A stream of its own, whose account is held for an hour. */
export async function holdStream(db: Database): Promise<HeldStream> {
  const stream = aStream();
  const runId = randomUUID();
  await db.execute(sql`
    insert into leases (account, holder, epoch, expires_at)
    values (${stream.account}, 'test', 1, clock_timestamp() + interval '1 hour')`);
  return { stream, runId, store: openStore(db, { account: stream.account, epoch: 1 }, runId) };
}

/** Plans to walk these windows from their newest pages. */
export const plan = ({ store, stream }: HeldStream, windows: readonly Interval[]) =>
  store.recordPlan({ stream, walks: windows.map((window) => ({ window })), expired: [] });

export const aPage = (
  stream: Stream,
  window: Interval,
  next: PageCommit["next"],
  but: Partial<PageCommit> = {},
): PageCommit => ({
  stream,
  window,
  startedAt: origin,
  after: undefined,
  bills: [],
  rejected: [],
  next,
  ...but,
});

/** The end of a walk that read its whole window. */
export const provenWhole = (window: Interval): PageCommit["next"] => ({
  end: { proven: [window], expired: [] },
});

/** A stream's checkpoints as text: window in minutes, state, cursor, pages, bills. */
export async function checkpoints(
  db: Database,
  { account, productType }: Stream,
): Promise<readonly string[]> {
  const { rows } = await db.execute<Record<"from" | "to" | "rest", string>>(sql`
    select
      extract(epoch from window_start) * 1000 as from,
      extract(epoch from window_end) * 1000 as to,
      concat_ws(' ', state, cursor, pages || 'p', bills || 'b') as rest
    from checkpoints
    where account = ${account}
      and product_type = ${productType}
    order by window_start, window_end`);
  const minute = (time: string) => (Number(time) - origin) / minuteMs;
  return rows.map(({ from, to, rest }) => `${minute(from)}-${minute(to)} ${rest}`);
}

const looksMax = 500;

/**
 * Resolves once at least this many sessions of the database wait for a lock; renewals wait, too.
 */
export async function untilBlocked(db: Database, sessions: number): Promise<void> {
  for (let look = 0; look < looksMax; look++) {
    const { rows } = await db.execute<{ blocked: number }>(sql`
      select count(*)::int as blocked
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'`);
    if ((rows[0]?.blocked ?? 0) >= sessions) return;
    await sleep(10);
  }
  throw new Error(`there were never ${sessions} sessions waiting for a lock`);
}
