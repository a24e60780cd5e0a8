import { type SQL, sql } from "drizzle-orm";
import { type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import { CommitsLostError } from "../errors.ts";
import { cutAt, type Interval, union } from "../sync/intervals.ts";
import { windowMaxMs } from "../sync/plan.ts";
import type { KnownTime, PageCommit, Stream, StreamPlan, Walk, WalkEnd } from "../sync/store.ts";
import { textArray } from "./array-literal.ts";
import type { Transaction } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";

/** The streams that were ever synced. */
export async function readSyncedStreams(db: Transaction): Promise<readonly Stream[]> {
  return withDatabaseErrors(async () => {
    const { rows } = await db.execute<{
      account: string;
      productType: Stream["productType"];
    }>(sql`
      select distinct account, product_type as "productType"
      from checkpoints
      order by account, product_type`);
    return rows;
  });
}

/** What is recorded of a stream's time. */
export async function readKnownTime(db: Transaction, stream: Stream): Promise<KnownTime> {
  const { rows } = await db.execute<{
    state: "open" | "complete" | "expired";
    from: string;
    to: string;
    cursor: string | null;
    started_at: string | null;
  }>(sql`
    select
      state,
      extract(epoch from window_start) * 1000 as from,
      extract(epoch from window_end) * 1000 as to,
      cursor,
      extract(epoch from started_at) * 1000 as started_at
    from checkpoints
    where account = ${stream.account}
      and product_type = ${stream.productType}
    order by window_start, window_end`);
  const walks = rows.map((row) => ({
    state: row.state,
    window: { from: toEpochMs(row.from), to: toEpochMs(row.to) },
    ...(row.cursor === null ? {} : { cursor: row.cursor }),
    ...(row.started_at === null ? {} : { startedAt: toEpochMs(row.started_at) }),
  }));
  const timeOf = (wanted: "complete" | "expired") =>
    union(walks.filter(({ state }) => state === wanted).map(({ window }) => window));
  return {
    coverage: timeOf("complete"),
    expired: timeOf("expired"),
    open: walks.filter(({ state }) => state === "open").map(({ state: _, ...walk }): Walk => walk),
  };
}

const toEpochMs = (numeric: string): EpochMs => epochMs(Math.round(Number(numeric)));

/** Two array literals for `unnest`: where the windows begin and where they end. */
const bounds = (windows: readonly Interval[]) => sql`
  ${textArray(windows.map(({ from }) => isoTime(from)))}::timestamptz[],
  ${textArray(windows.map(({ to }) => isoTime(to)))}::timestamptz[]`;

export async function recordPlan(tx: Transaction, plan: StreamPlan, runId: string): Promise<void> {
  const isResumed = ({ cursor }: Walk) => cursor !== undefined;
  const windowsOf = (walks: readonly Walk[]) => walks.map(({ window }) => window);
  const resumed = windowsOf(plan.walks.filter(isResumed));
  const fresh = windowsOf(plan.walks.filter((walk) => !isResumed(walk)));
  // A window that is taken up may end earlier now: what is newer is planned anew.
  await tx.execute(sql`
    update checkpoints
    set window_end = resumed.window_end
    from unnest(${bounds(resumed)}) as resumed (window_start, window_end)
    where account = ${plan.stream.account}
      and product_type = ${plan.stream.productType}
      and state = 'open'
      and checkpoints.window_start = resumed.window_start
      and checkpoints.window_end > resumed.window_end`);
  await tx.execute(sql`
    delete from checkpoints
    where account = ${plan.stream.account}
      and product_type = ${plan.stream.productType}
      and state = 'open'
      and (window_start, window_end) not in (
        select window_start, window_end
        from unnest(${bounds(resumed)}) as resumed (window_start, window_end)
      )`);
  await insertOpenWindows(tx, plan.stream, fresh, runId);
  for (const window of plan.expired) {
    await settle(tx, plan.stream, window, { state: "expired", pages: 0, bills: 0, runId });
  }
}

const rowsOf = ({ bills, rejected }: PageCommit): number => bills.length + rejected.length;

/** Puts what its walk proved in a window's place. */
export async function endWindow(tx: Transaction, page: PageCommit, end: WalkEnd, runId: string) {
  const { stream, window, startedAt, after } = page;
  const before = await takeOpenWindow(tx, stream, window, isAt(after));
  const counts = { pages: before.pages + 1, bills: before.bills + rowsOf(page) };
  for (const proven of end.proven) {
    await settle(tx, stream, proven, { state: "complete", ...counts, startedAt, runId });
  }
  for (const expired of end.expired) {
    await settle(tx, stream, expired, { state: "expired", pages: 0, bills: 0, runId });
  }
}

/** Moves the cursors of those windows on that go on. */
export async function moveCursors(
  tx: Transaction,
  pages: readonly PageCommit[],
  runId: string,
): Promise<void> {
  const moves = pages.flatMap((page) =>
    "end" in page.next ? [] : [{ page, cursor: page.next.cursor }],
  );
  if (moves.length === 0) return;
  const column = (pick: (move: (typeof moves)[number]) => string | null) =>
    textArray(moves.map(pick));
  const { rows } = await tx.execute<{ product_type: string; window_start_ms: string }>(sql`
    update checkpoints
    set
      cursor = moved.cursor,
      pages = pages + 1,
      bills = bills + moved.rows,
      run_id = ${runId},
      started_at = moved.started_at,
      updated_at = clock_timestamp()
    from unnest(
      ${column(({ page }) => page.stream.account)}::text[],
      ${column(({ page }) => page.stream.productType)}::text[],
      ${bounds(moves.map(({ page }) => page.window))},
      ${column(({ page }) => page.after ?? null)}::text[],
      ${column(({ cursor }) => cursor ?? null)}::text[],
      ${column(({ page }) => String(rowsOf(page)))}::int[],
      ${column(({ page }) => isoTime(page.startedAt))}::timestamptz[]
    ) as moved (
      account, product_type, window_start, window_end, after, cursor, rows, started_at
    )
    where checkpoints.account = moved.account
      and checkpoints.product_type = moved.product_type
      and checkpoints.window_start = moved.window_start
      and checkpoints.window_end = moved.window_end
      and checkpoints.cursor is not distinct from moved.after
      and state = 'open'
    returning
      checkpoints.product_type,
      extract(epoch from checkpoints.window_start) * 1000 as window_start_ms`);
  const isMoved = ({ stream, window }: PageCommit) =>
    rows.some(
      (row) =>
        row.product_type === stream.productType && toEpochMs(row.window_start_ms) === window.from,
    );
  const lost = moves.find(({ page }) => !isMoved(page))?.page;
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
      updated_at = clock_timestamp()
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

/**
 * Whether the page before is still there. A server that went back in time while its connections
 * were idle shows no other sign: without this, 100 bills of 1,113 were missing for good, and
 * the run said that it was complete.
 */
const isAt = (cursor: string | undefined) => sql`cursor is not distinct from ${cursor ?? null}`;

const lostCommits = ({ account, productType }: Stream, { from, to }: Interval) =>
  new CommitsLostError(`${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`);

/** Removes an open window. @returns what was counted in it. */
async function takeOpenWindow(
  tx: Transaction,
  stream: Stream,
  window: Interval,
  where: SQL = sql`true`,
) {
  const { rows } = await tx.execute<{ pages: number; bills: string }>(sql`
    delete from checkpoints
    where ${isOpenWindow(stream, window)}
      and ${where}
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
      ${account}, ${productType}, window_start, window_end, 'open', ${runId}, clock_timestamp()
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
  const { rowCount } = await tx.execute(sql`
    update checkpoints
    set
      window_end = ${isoTime(to)},
      pages = pages + ${pages},
      bills = bills + ${bills},
      run_id = ${runId},
      started_at = ${start},
      updated_at = clock_timestamp()
    where account = ${account}
      and product_type = ${productType}
      and window_start >= ${isoTime(epochMs(to - windowMaxMs))}
      and window_end = ${isoTime(from)}
      and state = ${state}`);
  if (rowCount !== 0) return;
  await tx.execute(sql`
    insert into checkpoints (
      account, product_type, window_start, window_end, state, pages, bills, run_id,
      started_at, updated_at
    )
    values (
      ${account}, ${productType}, ${isoTime(from)}, ${isoTime(to)}, ${state}, ${pages}, ${bills},
      ${runId}, ${start}, clock_timestamp()
    )`);
}
