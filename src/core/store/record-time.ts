import { type SQL, sql } from "drizzle-orm";
import { commitsLost } from "../../lib/errors.ts";
import { type EpochMs, epochMs, hourMs, isoTime } from "../../lib/time.ts";
import type { Transaction } from "../postgres/connect.ts";
import { multirange, textArray } from "../postgres/values.ts";
import type { Interval } from "../words/intervals.ts";
import type { Ledger, LedgerPlan, Walk } from "../words/ledger.ts";
import type { PageCommit } from "../words/page.ts";
import { startSlackMs } from "../words/plan.ts";

/*
 * How a run changes what is known of a ledger's time: its row of `ledgers` has what is covered, lost and open, and
 * `windows` has the open windows, each with the place at which its walk resumes.
 */

/** Replaces a ledger's open windows by those of a plan, and records what became lost. */
export async function recordPlan(tx: Transaction, plan: LedgerPlan): Promise<void> {
  const { ledger, walks, coverageEnd, plannedAt } = plan;
  const { account, productType } = ledger;
  const windows = walks.map(({ window }) => window);
  const startOf = ({ cursor, startedAt }: Walk) =>
    cursor === undefined || startedAt === undefined ? null : isoTime(startedAt);
  const kept = sql`${`{(,${coverageEnd === undefined ? "" : isoTime(coverageEnd)})}`}::tstzmultirange`;
  const changed = {
    covered: sql`covered * ${kept}`,
    lost: sql`lost + ${multirange(plan.lost)}`,
    open: multirange(windows),
  };
  // Sent together; the server executes them in this order.
  await Promise.all([
    tx.execute(sql`
    insert into ledgers (account, product_type)
    values (${account}, ${productType})
    on conflict (account, product_type) do nothing`),
    tx.execute(sql`
    update ledgers
    set
      ${assigned(changed)},
      planned_at = ${isoTime(plannedAt)},
      planned_clock = statement_timestamp()
    where account = ${account}
      and product_type = ${productType}`),
    tx.execute(sql`
    delete from windows
    where account = ${account}
      and product_type = ${productType}`),
    tx.execute(sql`
    insert into windows (account, product_type, window_start, window_end, cursor, started_at)
    select ${account}, ${productType}, window_start, window_end, cursor, started_at
    from unnest(
      ${bounds(windows)},
      ${textArray(walks.map(({ cursor }) => cursor ?? null))}::text[],
      ${textArray(walks.map(startOf))}::timestamptz[]
    ) as planned (window_start, window_end, cursor, started_at)`),
  ]);
}

type Times = { readonly covered: SQL; readonly lost: SQL; readonly open: SQL };

/** Sets the times of a row of `ledgers`, and when the first unread time begins. */
const assigned = ({ covered, lost, open }: Times, recovered = sql`recovered`): SQL => sql`
      covered = ${covered},
      lost = ${lost},
      recovered = ${recovered},
      open = ${open},
      first_unread_at = lower(
        tstzmultirange(tstzrange(lower((${covered}) + (${lost}) + (${open})), null))
          - ((${covered}) + (${lost}) + (${recovered}))
      )`;

/** Two array literals for `unnest`: where the windows begin and where they end. */
const bounds = (windows: readonly Interval[]) => sql`
  ${textArray(windows.map(({ from }) => isoTime(from)))}::timestamptz[],
  ${textArray(windows.map(({ to }) => isoTime(to)))}::timestamptz[]`;

const lostCommits = ({ account, productType }: Ledger, { from, to }: Interval) =>
  commitsLost(`${account}/${productType} ${isoTime(from)} to ${isoTime(to)}`);

/** What the pages say of their windows, as rows `walked`; `place` counts from 1. */
const walkedWindows = (pages: readonly PageCommit[]) => {
  const column = (pick: (page: PageCommit) => string | null) => textArray(pages.map(pick));
  return sql`unnest(
      ${column(({ ledger }) => ledger.productType)}::text[],
      ${bounds(pages.map(({ window }) => window))},
      ${column(({ after }) => after ?? null)}::text[],
      ${column(({ next }) => ("end" in next ? null : (next.cursor ?? null)))}::text[],
      ${column(({ startedAt }) => isoTime(startedAt))}::timestamptz[]
    ) with ordinality as walked (
      product_type, window_start, window_end, after, cursor, started_at, place
    )`;
};

/**
 * Whether a window is that of a row `walked`, as the previous page left it.
 *
 * Another cursor means that the server lost the previous page's commit. A server that was set back while
 * its connections were idle shows no other sign: without this check, 100 bills of 1,113 were missing for
 * good, and the run reported that it was complete.
 */
const isWalked = (pages: readonly PageCommit[]) => sql`
      windows.account = ${pages[0]?.ledger.account}
      and windows.product_type = walked.product_type
      and windows.window_start = walked.window_start
      and windows.window_end = walked.window_end
      and windows.cursor is not distinct from walked.after`;

/**
 * Checks that the pages' windows are open. @param pages of one account.
 * @throws DatabaseError where a window is not as the page before left it.
 */
export async function checkWalked(tx: Transaction, pages: readonly PageCommit[]): Promise<void> {
  const { rows } = await tx.execute<{ place: string }>(sql`
    select place
    from windows
    join ${walkedWindows(pages)}
      on ${isWalked(pages)}`);
  const places = new Set(rows.map(({ place }) => Number(place)));
  const lost = pages.find((_, index) => !places.has(index + 1));
  if (lost !== undefined) throw lostCommits(lost.ledger, lost.window);
}

/** Moves the cursors of windows that are not at their end. @param pages of one account. */
export async function moveCursors(tx: Transaction, pages: readonly PageCommit[]): Promise<void> {
  const moved = pages.filter(({ next }) => !("end" in next));
  if (moved.length === 0) return;
  await tx.execute(sql`
    update windows
    set
      cursor = walked.cursor,
      started_at = walked.started_at
    from ${walkedWindows(moved)}
    where ${isWalked(moved)}`);
}

/** Replaces windows that end by the time that their walks have proven. @param pages of one account. */
export async function endWindows(tx: Transaction, pages: readonly PageCommit[]): Promise<void> {
  const ended = pages.filter(({ next }) => "end" in next);
  if (ended.length === 0) return;
  await Promise.all([
    tx.execute(sql`
    delete from windows
    using ${walkedWindows(ended)}
    where ${isWalked(ended)}`),
    ...Map.groupBy(ended, ({ ledger }) => ledger.productType)
      .values()
      .map((ofLedger) => addEnds(tx, ofLedger)),
  ]);
}

async function addEnds(tx: Transaction, pages: readonly PageCommit[]): Promise<void> {
  const [{ ledger } = {}] = pages;
  const ends = pages.flatMap(({ next }) => ("end" in next ? [next.end] : []));
  const proven = ends.flatMap((end) => end.proven);
  const lost = ends.flatMap((end) => end.lost);
  const changed = {
    covered: sql`covered + ${multirange(proven)}`,
    lost: sql`lost + ${multirange(lost)} - ${multirange(proven)} - recovered`,
    open: sql`open - ${multirange(pages.map(({ window }) => window))}`,
  };
  await tx.execute(sql`
    update ledgers
    set
      ${assigned(changed, sql`recovered - ${multirange(proven)}`)}
    where account = ${ledger?.account}
      and product_type = ${ledger?.productType}`);
}

/** Records that a window was recovered from tax records: what of it was lost is lost no more. */
export async function addRecovered(
  tx: Transaction,
  { account, productType }: Ledger,
  window: Interval,
): Promise<void> {
  const added = multirange([window]);
  const changed = { covered: sql`covered`, lost: sql`lost - ${added}`, open: sql`open` };
  await tx.execute(sql`
    update ledgers
    set
      ${assigned(changed, sql`recovered + ${added}`)}
    where account = ${account}
      and product_type = ${productType}`);
}

// What leaves the exchange's 90 days before it is read again would count as lost.
const reachMarginMs = hourMs;

/**
 * Makes unread what is covered of an account's ledgers and can be read again.
 * @param horizon the oldest time that can be; undefined to make all unread.
 */
export async function forgetCoverage(
  tx: Transaction,
  account: string,
  horizon: EpochMs | undefined,
): Promise<void> {
  const timeOf = (ms: number) => sql`${isoTime(epochMs(ms))}::timestamptz`;
  const changed = {
    // A ledger that began a little before the horizon is planned anew without a loss. Of one without a bill, nothing
    // shows that any key but an empty account's has read it.
    covered:
      horizon === undefined
        ? sql`'{}'::tstzmultirange`
        : sql`case
          when bills > 0 and lower(covered) < ${timeOf(horizon - startSlackMs)}
          then covered * tstzmultirange(tstzrange(null, ${timeOf(horizon + reachMarginMs)}))
          else '{}'
        end`,
    lost: sql`lost`,
    open: sql`'{}'::tstzmultirange`,
  };
  await Promise.all([
    tx.execute(sql`
    delete from windows
    where account = ${account}`),
    tx.execute(sql`
    update ledgers
    set
      ${assigned(changed)}
    where account = ${account}`),
  ]);
}
