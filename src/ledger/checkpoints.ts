import { sql } from "drizzle-orm";
import { billsApiOf } from "../contract/bills-api.ts";
import { type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import type { Queryable, Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { isOneOf } from "../db/sql/one-of.ts";
import { CommitsLostError } from "../errors.ts";
import { cutAt, type Interval } from "../sync/intervals.ts";
import type { Stream, StreamPlan, Walk } from "../sync/store.ts";
import { refreshStreamTimes } from "./refresh-stream-times.ts";

/** The streams that were ever synced. @param accounts only these; default all. */
export async function readSyncedStreams(
  db: Queryable,
  accounts?: readonly string[],
): Promise<readonly Stream[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      account: string;
      productType: Stream["productType"];
    }>(sql`
      select distinct account, product_type as "productType"
      from checkpoints
      where ${isOneOf(accounts)}
      order by account, product_type`);
    return rows;
  });
}

/** Two array literals for `unnest`: where the windows begin and where they end. */
export const bounds = (windows: readonly Interval[]) => sql`
  ${textArray(windows.map(({ from }) => isoTime(from)))}::timestamptz[],
  ${textArray(windows.map(({ to }) => isoTime(to)))}::timestamptz[]`;

export async function recordPlan(tx: Transaction, plan: StreamPlan, runId: string): Promise<void> {
  const isResumed = ({ cursor }: Walk) => cursor !== undefined;
  const windowsOf = (walks: readonly Walk[]) => walks.map(({ window }) => window);
  const resumed = windowsOf(plan.walks.filter(isResumed));
  const fresh = windowsOf(plan.walks.filter((walk) => !isResumed(walk)));
  // Sent together; the server executes them in this order.
  await Promise.all([
    ...(plan.coverageEnd === undefined ? [] : cutCoverage(tx, plan.stream, plan.coverageEnd)),
    shortenOpenWindows(tx, plan.stream, resumed),
    dropOpenWindows(tx, plan.stream, resumed),
    insertOpenWindows(tx, plan.stream, fresh, runId),
    ...plan.expired.map((window) => settle(tx, plan.stream, window, expiredBy(runId))),
    refreshStreamTimes(tx, plan.stream.account, [plan.stream.productType]),
  ]);
}

/** Takes the time behind `end` out of the coverage. */
function cutCoverage(tx: Transaction, { account, productType }: Stream, end: EpochMs) {
  const isCut = sql`
    account = ${account}
      and product_type = ${productType}
      and state = 'complete'
      and window_end > ${isoTime(end)}`;
  return [
    tx.execute(sql`
    delete from checkpoints
    where ${isCut}
      and window_start >= ${isoTime(end)}`),
    tx.execute(sql`
    update checkpoints
    set window_end = ${isoTime(end)}
    where ${isCut}`),
  ];
}

/** Shortens the windows that are resumed, where the new plan has put their newer part into other windows. */
async function shortenOpenWindows(
  tx: Transaction,
  { account, productType }: Stream,
  resumed: readonly Interval[],
): Promise<void> {
  await tx.execute(sql`
    update checkpoints
    set window_end = resumed.window_end
    from unnest(${bounds(resumed)}) as resumed (window_start, window_end)
    where account = ${account}
      and product_type = ${productType}
      and state = 'open'
      and checkpoints.window_start = resumed.window_start
      and checkpoints.window_end > resumed.window_end`);
}

async function dropOpenWindows(
  tx: Transaction,
  { account, productType }: Stream,
  resumed: readonly Interval[],
): Promise<void> {
  await tx.execute(sql`
    delete from checkpoints
    where account = ${account}
      and product_type = ${productType}
      and state = 'open'
      and (window_start, window_end) not in (
        select window_start, window_end
        from unnest(${bounds(resumed)}) as resumed (window_start, window_end)
      )`);
}

export const expiredBy = (runId: string): Settled => ({
  state: "expired",
  pages: 0,
  bills: 0,
  runId,
});

/** Divides an open window. The newest part keeps the row and its cursor; older parts are new rows. */
export async function divideWindow(
  tx: Transaction,
  stream: Stream,
  window: Interval,
  cuts: readonly EpochMs[],
  runId: string,
): Promise<void> {
  const parts = cutAt(window, cuts);
  const newest = parts.at(-1) ?? window;
  await Promise.all([
    shortenOpenWindow(tx, stream, window, newest.from),
    insertOpenWindows(tx, stream, parts.slice(0, -1), runId),
  ]);
}

async function shortenOpenWindow(
  tx: Transaction,
  stream: Stream,
  window: Interval,
  from: EpochMs,
): Promise<void> {
  const { rowCount } = await tx.execute(sql`
    update checkpoints
    set
      window_start = ${isoTime(from)},
      updated_at = statement_timestamp()
    where ${isOpenWindow(stream, window)}`);
  if (rowCount !== 1) throw lostCommits(stream, window);
}

const isOpenWindow = ({ account, productType }: Stream, { from, to }: Interval) => sql`
      account = ${account}
      and product_type = ${productType}
      and window_start = ${isoTime(from)}
      and window_end = ${isoTime(to)}
      and state = 'open'`;

export const lostCommits = ({ account, productType }: Stream, { from, to }: Interval) =>
  new CommitsLostError(`${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`);

async function insertOpenWindows(
  tx: Transaction,
  { account, productType }: Stream,
  windows: readonly Interval[],
  runId: string,
): Promise<void> {
  await tx.execute(sql`
    insert into checkpoints (
      account, product_type, window_start, window_end, state, run_id, updated_at
    )
    select
      ${account}, ${productType}, window_start, window_end, 'open', ${runId}, statement_timestamp()
    from unnest(${bounds(windows)}) as planned (window_start, window_end)`);
}

/**
 * Makes an account's time unread that was read since a moment, by the database's clock, and drops its open
 * windows. A complete window that was begun earlier and extended since then is dropped whole.
 */
export async function forgetCoverage(
  tx: Transaction,
  account: string,
  since: string,
): Promise<void> {
  const { rows } = await tx.execute<{ product_type: string }>(sql`
    delete from checkpoints
    where account = ${account}
      and (state = 'open' or (state = 'complete' and updated_at >= ${since}))
    returning product_type`);
  const productTypes = rows.map(({ product_type }) => product_type);
  if (productTypes.length > 0) await refreshStreamTimes(tx, account, productTypes);
}

type Settled = {
  readonly state: "complete" | "expired";
  readonly pages: number;
  readonly bills: number;
  readonly startedAt?: EpochMs;
  readonly runId: string;
};

/**
 * Records time as complete or as expired. Extends the checkpoint that ends where this time begins,
 * unless that would make it longer than a window: a sync every five minutes leaves one row a week.
 */
export async function settle(
  tx: Transaction,
  { account, productType }: Stream,
  { from, to }: Interval,
  { state, pages, bills, startedAt, runId }: Settled,
): Promise<void> {
  const start = startedAt === undefined ? null : isoTime(startedAt);
  await tx.execute(sql`
    with joined as (
      update checkpoints
      set
        window_end = ${isoTime(to)},
        pages = pages + ${pages},
        bills = bills + ${bills},
        run_id = ${runId},
        started_at = ${start},
        updated_at = statement_timestamp()
      where account = ${account}
        and product_type = ${productType}
        and window_start >= ${isoTime(epochMs(to - billsApiOf(productType).windowMaxMs))}
        and window_end = ${isoTime(from)}
        and state = ${state}
      returning 1
    )
    insert into checkpoints (
      account, product_type, window_start, window_end, state, pages, bills, run_id,
      started_at, updated_at
    )
    select
      ${account}, ${productType}, ${isoTime(from)}::timestamptz, ${isoTime(to)}::timestamptz,
      ${state}, ${pages}::int, ${bills}::bigint, ${runId}::uuid, ${start}::timestamptz,
      statement_timestamp()
    where not exists (select 1 from joined)`);
}
