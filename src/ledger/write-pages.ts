import { sql } from "drizzle-orm";
import { isoTime } from "../contract/time.ts";
import type { Transaction } from "../db/connect.ts";
import { textArray } from "../db/sql/array-literal.ts";
import { onlyRow } from "../db/sql/only-row.ts";
import type { PageCommit, PageCounts } from "../sync/store.ts";
import { bounds, expiredBy, lostCommits, settle } from "./checkpoints.ts";
import { refreshStreamTimes } from "./refresh-stream-times.ts";
import { hasCurrentRows, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { type BillsBefore, changesOf, lookUpBills, writeBills } from "./upsert-bills.ts";

/*
 * A database may be 300 ms away, so pages take two round trips: all reads are sent together with BEGIN, and
 * all writes together with COMMIT. What would fail a page is read before it is written.
 */

/** What is read before pages are written. */
export type BeforePages = {
  readonly bills: BillsBefore;
  readonly hasCurrentRows: boolean;
  readonly windows: ReadonlyMap<PageCommit, OpenCount>;
};

/** Reads it in one round trip. @throws CommitsLostError where what the page before left is gone. */
export async function lookUpPages(
  tx: Transaction,
  pages: readonly PageCommit[],
): Promise<BeforePages> {
  const [bills, hasCurrent, windows] = await Promise.all([
    lookUpBills(tx, pages),
    hasCurrentRows(tx, pages),
    readWalked(tx, pages),
  ]);
  return { bills, hasCurrentRows: hasCurrent, windows };
}

/**
 * Writes pages of one account, at most one of each window, and all that follows from them. All statements are
 * sent before the first is answered.
 */
export async function writePages(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: BeforePages,
  runId: string,
): Promise<readonly PageCounts[]> {
  const changes = changesOf(pages, before.bills);
  const [, rejected] = await Promise.all([
    writeBills(tx, pages, changes, before.bills),
    keepRejected(tx, pages, before, runId),
    endWindows(tx, before.windows, runId),
    moveCursors(tx, pages, runId),
  ]);
  return changes.counts.map((counted, place) => ({
    ...counted,
    rejected: onlyRow(rejected.slice(place, place + 1), "a page's rejected rows"),
  }));
}

async function keepRejected(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: BeforePages,
  runId: string,
): Promise<readonly number[]> {
  const superseded = before.hasCurrentRows ? supersedeRows(tx, pages) : Promise.resolve();
  const counts = pages.map(({ stream, rejected }) => rejectRows(tx, stream, runId, rejected));
  const [found] = await Promise.all([Promise.all(counts), superseded]);
  return found;
}

/*
 * How pages change the checkpoints: a page moves the cursor of its open window, or, where it ends the
 * window, replaces it by the time that the walk has proven.
 */

const rowsOf = ({ bills, rejected }: PageCommit): number => bills.length + rejected.length;

/** What the pages say of their windows, as rows `walked`; `place` counts from 1. */
const walkedWindows = (pages: readonly PageCommit[]) => {
  const column = (pick: (page: PageCommit) => string | null) => textArray(pages.map(pick));
  return sql`unnest(
      ${column(({ stream }) => stream.productType)}::text[],
      ${bounds(pages.map(({ window }) => window))},
      ${column(({ after }) => after ?? null)}::text[],
      ${column(({ next }) => ("end" in next ? null : (next.cursor ?? null)))}::text[],
      ${column((page) => String(rowsOf(page)))}::int[],
      ${column(({ startedAt }) => isoTime(startedAt))}::timestamptz[]
    ) with ordinality as walked (
      product_type, window_start, window_end, after, cursor, rows, started_at, place
    )`;
};

/**
 * Whether a checkpoint is the open window of a row `walked`, as the previous page left it.
 *
 * Another cursor means that the server lost the previous page's commit. A server that was set back while
 * its connections were idle shows no other sign: without this check, 100 bills of 1,113 were missing for
 * good, and the run reported that it was complete.
 */
const isWalked = (pages: readonly PageCommit[]) => sql`
      checkpoints.account = ${pages[0]?.stream.account}
      and checkpoints.product_type = walked.product_type
      and checkpoints.window_start = walked.window_start
      and checkpoints.window_end = walked.window_end
      and checkpoints.cursor is not distinct from walked.after
      and state = 'open'`;

/** The counts that a window has while it is open. */
export type OpenCount = { readonly pages: number; readonly bills: number };

/**
 * Reads the counts of the pages' windows. @param pages of one account.
 * @throws CommitsLostError where a window is not as the page before left it.
 */
export async function readWalked(
  tx: Transaction,
  pages: readonly PageCommit[],
): Promise<ReadonlyMap<PageCommit, OpenCount>> {
  const { rows } = await tx.execute<{ place: string; pages: number; bills: string }>(sql`
    select place, pages, bills
    from checkpoints
    join ${walkedWindows(pages)}
      on ${isWalked(pages)}`);
  const counts = new Map(
    rows.map(({ place, pages, bills }) => [Number(place), { pages, bills: Number(bills) }]),
  );
  return new Map(
    pages.map((page, index) => {
      const count = counts.get(index + 1);
      if (count === undefined) throw lostCommits(page.stream, page.window);
      return [page, count];
    }),
  );
}

/**
 * Replaces an account's windows that end by the time that their walks have proven.
 * @param windows the counts that all pages' windows have while they are open.
 */
export async function endWindows(
  tx: Transaction,
  windows: ReadonlyMap<PageCommit, OpenCount>,
  runId: string,
): Promise<void> {
  const ended = [...windows].filter(([{ next }]) => "end" in next);
  const pages = ended.map(([page]) => page);
  const [first] = pages;
  if (first === undefined) return;
  // Sent together; the server executes them in this order.
  const dropped = dropWalked(tx, pages);
  const settled = ended.flatMap(([page, count]) => settlePage(tx, page, count, runId));
  const productTypes = pages.map(({ stream }) => stream.productType);
  const refreshed = refreshStreamTimes(tx, first.stream.account, productTypes);
  await Promise.all([dropped, ...settled, refreshed]);
}

async function dropWalked(tx: Transaction, pages: readonly PageCommit[]): Promise<void> {
  await tx.execute(sql`
    delete from checkpoints
    using ${walkedWindows(pages)}
    where ${isWalked(pages)}`);
}

function settlePage(
  tx: Transaction,
  page: PageCommit,
  count: OpenCount,
  runId: string,
): readonly Promise<void>[] {
  const { stream, startedAt, next } = page;
  if (!("end" in next)) return [];
  const counts = { pages: count.pages + 1, bills: count.bills + rowsOf(page) };
  const complete = { state: "complete", ...counts, startedAt, runId } as const;
  return [
    ...next.end.proven.map((proven) => settle(tx, stream, proven, complete)),
    ...next.end.expired.map((lost) => settle(tx, stream, lost, expiredBy(runId))),
  ];
}

/** Moves the cursors of windows that are not at their end. @param pages of one account. */
export async function moveCursors(
  tx: Transaction,
  pages: readonly PageCommit[],
  runId: string,
): Promise<void> {
  const moved = pages.filter(({ next }) => !("end" in next));
  if (moved.length === 0) return;
  await tx.execute(sql`
    update checkpoints
    set
      cursor = walked.cursor,
      pages = pages + 1,
      bills = bills + walked.rows,
      run_id = ${runId},
      started_at = walked.started_at,
      updated_at = statement_timestamp()
    from ${walkedWindows(moved)}
    where ${isWalked(moved)}`);
}
