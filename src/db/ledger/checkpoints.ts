import { sql } from "drizzle-orm";
import { billsApiOf } from "../../contract/bills-api.ts";
import { type EpochMs, epochMs, isoTime } from "../../contract/time.ts";
import { CommitsLostError } from "../../errors.ts";
import { cutAt, type Interval } from "../../sync/intervals.ts";
import type { PageCommit, Stream, StreamPlan, Walk } from "../../sync/store.ts";
import type { Queryable, Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { textArray } from "../sql/array-literal.ts";
import { isOneOf } from "../sql/one-of.ts";
import { refreshStreamTimes } from "./stream-times.ts";

/** The streams that were ever synced. @param accounts of these only. Default of all. */
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
const bounds = (windows: readonly Interval[]) => sql`
  ${textArray(windows.map(({ from }) => isoTime(from)))}::timestamptz[],
  ${textArray(windows.map(({ to }) => isoTime(to)))}::timestamptz[]`;

export async function recordPlan(tx: Transaction, plan: StreamPlan, runId: string): Promise<void> {
  const isResumed = ({ cursor }: Walk) => cursor !== undefined;
  const windowsOf = (walks: readonly Walk[]) => walks.map(({ window }) => window);
  const resumed = windowsOf(plan.walks.filter(isResumed));
  const fresh = windowsOf(plan.walks.filter((walk) => !isResumed(walk)));
  // Sent together, done in this order.
  await Promise.all([
    shortenOpenWindows(tx, plan.stream, resumed),
    dropOpenWindows(tx, plan.stream, resumed),
    insertOpenWindows(tx, plan.stream, fresh, runId),
    ...plan.expired.map((window) => settle(tx, plan.stream, window, expiredBy(runId))),
    refreshStreamTimes(tx, plan.stream.account, [plan.stream.productType]),
  ]);
}

/** A window that is taken up may end earlier now: what is newer is planned anew. */
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

const rowsOf = ({ bills, rejected }: PageCommit): number => bills.length + rejected.length;

/** Puts what their walks proved in the place of those windows of an account that ended: in two round trips. */
export async function endWindows(
  tx: Transaction,
  pages: readonly PageCommit[],
  runId: string,
): Promise<void> {
  const ended = pages.filter(({ next }) => "end" in next);
  const taken = await Promise.all(ended.map((page) => takeOpenWindow(tx, page)));
  const settled = ended.flatMap((page, place) => {
    const { stream, startedAt, next } = page;
    if (!("end" in next)) return [];
    const { pages = 0, bills = 0 } = taken[place] ?? {};
    const counts = { pages: pages + 1, bills: bills + rowsOf(page) };
    const complete = { state: "complete", ...counts, startedAt, runId } as const;
    return [
      ...next.end.proven.map((proven) => settle(tx, stream, proven, complete)),
      ...next.end.expired.map((lost) => settle(tx, stream, lost, expiredBy(runId))),
    ];
  });
  const [{ stream } = {}] = ended;
  if (stream === undefined) return;
  const productTypes = ended.map((page) => page.stream.productType);
  await Promise.all([...settled, refreshStreamTimes(tx, stream.account, productTypes)]);
}

const expiredBy = (runId: string): Settled => ({ state: "expired", pages: 0, bills: 0, runId });

/** Moves the cursors of those windows on that go on. @param pages of one account. */
export async function moveCursors(
  tx: Transaction,
  pages: readonly PageCommit[],
  runId: string,
): Promise<void> {
  const moves = pages.flatMap((page) =>
    "end" in page.next ? [] : [{ page, cursor: page.next.cursor }],
  );
  const [first] = moves;
  if (first === undefined) return;
  const column = (pick: (move: (typeof moves)[number]) => string | null) =>
    textArray(moves.map(pick));
  const { rows } = await tx.execute<{ place: string }>(sql`
    update checkpoints
    set
      cursor = moved.cursor,
      pages = pages + 1,
      bills = bills + moved.rows,
      run_id = ${runId},
      started_at = moved.started_at,
      updated_at = statement_timestamp()
    from unnest(
      ${column(({ page }) => page.stream.productType)}::text[],
      ${bounds(moves.map(({ page }) => page.window))},
      ${column(({ page }) => page.after ?? null)}::text[],
      ${column(({ cursor }) => cursor ?? null)}::text[],
      ${column(({ page }) => String(rowsOf(page)))}::int[],
      ${column(({ page }) => isoTime(page.startedAt))}::timestamptz[]
    ) with ordinality as moved (
      product_type, window_start, window_end, after, cursor, rows, started_at, place
    )
    where checkpoints.account = ${first.page.stream.account}
      and checkpoints.product_type = moved.product_type
      and checkpoints.window_start = moved.window_start
      and checkpoints.window_end = moved.window_end
      and checkpoints.cursor is not distinct from moved.after
      and state = 'open'
    returning moved.place`);
  const moved = new Set(rows.map(({ place }) => Number(place)));
  const lost = moves.find((_, index) => !moved.has(index + 1))?.page;
  if (lost !== undefined) throw lostCommits(lost.stream, lost.window);
}

/** The newest part takes the row over with its cursor; the older ones are new rows without one. */
export async function divideWindow(
  tx: Transaction,
  stream: Stream,
  window: Interval,
  cuts: readonly EpochMs[],
  runId: string,
): Promise<void> {
  const parts = cutAt(window, cuts);
  const newest = parts.at(-1) ?? window;
  const { rowCount } = await tx.execute(sql`
    update checkpoints
    set
      window_start = ${isoTime(newest.from)},
      updated_at = statement_timestamp()
    where ${isOpenWindow(stream, window)}`);
  if (rowCount !== 1) throw lostCommits(stream, window);
  await insertOpenWindows(tx, stream, parts.slice(0, -1), runId);
}

const isOpenWindow = ({ account, productType }: Stream, { from, to }: Interval) => sql`
      account = ${account}
      and product_type = ${productType}
      and window_start = ${isoTime(from)}
      and window_end = ${isoTime(to)}
      and state = 'open'`;

const lostCommits = ({ account, productType }: Stream, { from, to }: Interval) =>
  new CommitsLostError(`${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`);

/**
 * Removes an open window. @returns what was counted in it.
 *
 * Its cursor tells whether the page before is still there. A server that went back in time while its
 * connections were idle shows no other sign: without this, 100 bills of 1,113 were missing for good,
 * and the run said that it was complete.
 */
async function takeOpenWindow(tx: Transaction, { stream, window, after }: PageCommit) {
  const { rows } = await tx.execute<{ pages: number; bills: string }>(sql`
    delete from checkpoints
    where ${isOpenWindow(stream, window)}
      and cursor is not distinct from ${after ?? null}
    returning pages, bills`);
  const [counts] = rows;
  if (counts === undefined) throw lostCommits(stream, window);
  return { pages: counts.pages, bills: Number(counts.bills) };
}

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

type Settled = {
  readonly state: "complete" | "expired";
  readonly pages: number;
  readonly bills: number;
  readonly startedAt?: EpochMs;
  readonly runId: string;
};

/**
 * Records time as complete or as expired. It joins the checkpoint that ends where it begins as
 * long as the two are no longer than a window: syncs every five minutes leave a row a week.
 */
async function settle(
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
