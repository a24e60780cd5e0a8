import { sql } from "drizzle-orm";
import { type EpochMs, epochMs, isoTime } from "../contract/time.ts";
import type { Interval } from "../sync/intervals.ts";
import type { KnownTime, PageCommit, Store, Stream, StreamPlan, Walk } from "../sync/store.ts";
import type { Database, Transaction } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { checkLease, type Lease } from "./lease.ts";
import { rejectRows } from "./rejected-bills.ts";
import { upsertBills } from "./upsert-bills.ts";

/** The tables of one held account, as the sync writes them. */
export function openStore(db: Database, lease: Lease, runId: string): Store {
  /** One transaction, in which the account is certainly still this run's. */
  const write = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    withDatabaseErrors(() =>
      db.transaction(async (tx) => {
        await checkLease(tx, lease);
        return work(tx);
      }),
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
        await deleteWindow(tx, stream, window);
        await insertWindow(tx, stream, window, { state: "open", runId });
      }),
  };
}

/** What is recorded of a stream's time. */
export async function readKnownTime(db: Database, stream: Stream): Promise<KnownTime> {
  const [settled, open] = await Promise.all([
    db.execute<{ state: string; from: string; to: string }>(sql`
      select
        state,
        extract(epoch from lower(piece)) * 1000 as from,
        extract(epoch from upper(piece)) * 1000 as to
      from (
        select state, unnest(range_agg(tstzrange(window_start, window_end))) as piece
        from checkpoints
        where account = ${stream.account}
          and product_type = ${stream.productType}
          and state in ('complete', 'expired')
        group by state
      ) as pieces
      order by piece`),
    db.execute<{ from: string; to: string; cursor: string | null; started_at: string | null }>(sql`
      select
        extract(epoch from window_start) * 1000 as from,
        extract(epoch from window_end) * 1000 as to,
        cursor,
        extract(epoch from started_at) * 1000 as started_at
      from checkpoints
      where account = ${stream.account}
        and product_type = ${stream.productType}
        and state = 'open'
      order by window_start, window_end`),
  ]);
  const ofState = (wanted: string) =>
    settled.rows.filter(({ state }) => state === wanted).map(toInterval);
  return {
    coverage: ofState("complete"),
    expired: ofState("expired"),
    open: open.rows.map(
      (row): Walk => ({
        window: toInterval(row),
        ...(row.cursor === null ? {} : { cursor: row.cursor }),
        ...(row.started_at === null ? {} : { startedAt: toEpochMs(row.started_at) }),
      }),
    ),
  };
}

const toEpochMs = (numeric: string): EpochMs => epochMs(Math.round(Number(numeric)));
const toInterval = (row: { from: string; to: string }): Interval => ({
  from: toEpochMs(row.from),
  to: toEpochMs(row.to),
});

async function recordPlan(tx: Transaction, plan: StreamPlan, runId: string): Promise<void> {
  const { account, productType } = plan.stream;
  const resumed = plan.walks.filter(({ cursor }) => cursor !== undefined);
  const kept = resumed.map(
    ({ window }) => sql`(${isoTime(window.from)}::timestamptz, ${isoTime(window.to)}::timestamptz)`,
  );
  const others =
    kept.length === 0
      ? sql``
      : sql`and (window_start, window_end) not in (${sql.join(kept, sql`, `)})`;
  await tx.execute(sql`
    delete from checkpoints
    where account = ${account}
      and product_type = ${productType}
      and state = 'open'
      ${others}`);
  for (const { window, cursor } of plan.walks) {
    if (cursor === undefined) await insertWindow(tx, plan.stream, window, { state: "open", runId });
  }
  for (const window of plan.expired) {
    await insertWindow(tx, plan.stream, window, { state: "expired", runId });
  }
}

/** Moves a window's cursor on, or puts what its walk proved in the window's place. */
async function moveCheckpoint(tx: Transaction, page: PageCommit, runId: string): Promise<void> {
  const { stream, window, startedAt, next } = page;
  const rows = page.bills.length + page.rejected.length;
  const { rows: moved } = await tx.execute<{ pages: number; bills: string }>(sql`
    update checkpoints
    set
      cursor = ${"cursor" in next ? next.cursor : null},
      pages = pages + 1,
      bills = bills + ${rows},
      run_id = ${runId},
      started_at = ${isoTime(startedAt)},
      updated_at = clock_timestamp()
    where account = ${stream.account}
      and product_type = ${stream.productType}
      and window_start = ${isoTime(window.from)}
      and window_end = ${isoTime(window.to)}
      and state = 'open'
    returning pages, bills`);
  const [counts] = moved;
  if (counts === undefined) throw new Error("defect: a page of a window that was never planned");
  if ("cursor" in next) return;
  await deleteWindow(tx, stream, window);
  const totals = { pages: counts.pages, bills: Number(counts.bills), startedAt, runId };
  for (const proven of next.end.proven) {
    await insertWindow(tx, stream, proven, { state: "complete", ...totals });
  }
  for (const expired of next.end.expired) {
    await insertWindow(tx, stream, expired, { state: "expired", runId });
  }
}

async function deleteWindow(tx: Transaction, stream: Stream, window: Interval): Promise<void> {
  await tx.execute(sql`
    delete from checkpoints
    where account = ${stream.account}
      and product_type = ${stream.productType}
      and window_start = ${isoTime(window.from)}
      and window_end = ${isoTime(window.to)}`);
}

type NewCheckpoint = {
  readonly state: "open" | "complete" | "expired";
  readonly runId: string;
  readonly pages?: number;
  readonly bills?: number;
  readonly startedAt?: EpochMs;
};

async function insertWindow(
  tx: Transaction,
  { account, productType }: Stream,
  { from, to }: Interval,
  { state, runId, pages = 0, bills = 0, startedAt }: NewCheckpoint,
): Promise<void> {
  await tx.execute(sql`
    insert into checkpoints (
      account, product_type, window_start, window_end, state, pages, bills, run_id,
      started_at, updated_at
    )
    values (
      ${account}, ${productType}, ${isoTime(from)}, ${isoTime(to)}, ${state}, ${pages}, ${bills},
      ${runId}, ${startedAt === undefined ? null : isoTime(startedAt)}, clock_timestamp()
    )`);
}
