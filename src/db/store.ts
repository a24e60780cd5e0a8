import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import { type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import { cutAt, type Interval, union } from "../sync/intervals.ts";
import { windowMaxMs } from "../sync/plan.ts";
import type { KnownTime, PageCommit, Store, Stream, StreamPlan, Walk } from "../sync/store.ts";
import { textArray } from "./array-literal.ts";
import { type Database, inTransaction, type Transaction } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { checkLease, type Lease } from "./lease.ts";
import { commitLoanToValue } from "./loan-to-value.ts";
import { rejectRows } from "./rejected-bills.ts";
import { upsertBills } from "./upsert-bills.ts";

/** The tables of one held account, as the sync writes them. */
export function openStore(
  db: Database,
  lease: Pick<Lease, "account" | "epoch">,
  runId: string,
): Store {
  // The account's row lets its writers through one at a time. They wait for it here, not each
  // with a connection: the lease's renewal needs one too.
  const turns = new PQueue({ concurrency: 1 });
  /** One transaction, in which the account is certainly still this run's. */
  const write = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.add(() =>
      withDatabaseErrors(() =>
        inTransaction(db, async (tx) => {
          await checkLease(tx, lease);
          return work(tx);
        }),
      ),
    );

  return {
    knownTime: (stream) => withDatabaseErrors(() => readKnownTime(db, stream)),
    recordPlan: (plan) => write((tx) => recordPlan(tx, plan, runId)),
    commitPage: (page) =>
      write(async (tx) => {
        const counts = await upsertBills(tx, page.stream, page.bills);
        const rejected = await rejectRows(tx, page.stream, runId, page.rejected);
        await moveCheckpoint(tx, page, runId);
        return { ...counts, rejected };
      }),
    restartWindow: (stream, window) =>
      write(async (tx) => {
        await takeOpenWindow(tx, stream, window);
        await insertOpenWindows(tx, stream, [window], runId);
      }),
    divideWindow: (stream, window, cuts) =>
      write((tx) => divideWindow(tx, stream, window, cuts, runId)),
    commitLoanToValue: (commit) => write((tx) => commitLoanToValue(tx, commit)),
  };
}

/** What is recorded of a stream's time. */
export async function readKnownTime(db: Database, stream: Stream): Promise<KnownTime> {
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

async function recordPlan(tx: Transaction, plan: StreamPlan, runId: string): Promise<void> {
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

/** Moves a window's cursor on, or puts what its walk proved in the window's place. */
async function moveCheckpoint(tx: Transaction, page: PageCommit, runId: string): Promise<void> {
  const { stream, window, startedAt, next } = page;
  const rows = page.bills.length + page.rejected.length;
  if ("end" in next) {
    const before = await takeOpenWindow(tx, stream, window);
    const counts = { pages: before.pages + 1, bills: before.bills + rows };
    for (const proven of next.end.proven) {
      await settle(tx, stream, proven, { state: "complete", ...counts, startedAt, runId });
    }
    for (const expired of next.end.expired) {
      await settle(tx, stream, expired, { state: "expired", pages: 0, bills: 0, runId });
    }
    return;
  }
  const { rowCount } = await tx.execute(sql`
    update checkpoints
    set
      cursor = ${next.cursor},
      pages = pages + 1,
      bills = bills + ${rows},
      run_id = ${runId},
      started_at = ${isoTime(startedAt)},
      updated_at = clock_timestamp()
    where ${isOpenWindow(stream, window)}`);
  if (rowCount !== 1) throw neverPlanned(stream, window);
}

/** The newest part takes the row over with its cursor; the older ones are new rows without one. */
async function divideWindow(
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
  if (rowCount !== 1) throw neverPlanned(stream, window);
  await insertOpenWindows(tx, stream, parts.slice(0, -1), runId);
}

const isOpenWindow = ({ account, productType }: Stream, { from, to }: Interval) => sql`
      account = ${account}
      and product_type = ${productType}
      and window_start = ${isoTime(from)}
      and window_end = ${isoTime(to)}
      and state = 'open'`;

const neverPlanned = ({ account, productType }: Stream, { from, to }: Interval) =>
  new Error(
    `defect: window ${account}/${productType} ${isoTime(from)} to ${isoTime(to)} is not planned`,
  );

/** Removes an open window. @returns what was counted in it. */
async function takeOpenWindow(tx: Transaction, stream: Stream, window: Interval) {
  const { rows } = await tx.execute<{ pages: number; bills: string }>(sql`
    delete from checkpoints
    where ${isOpenWindow(stream, window)}
    returning pages, bills`);
  const [counts] = rows;
  if (counts === undefined) throw neverPlanned(stream, window);
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
