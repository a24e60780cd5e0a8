import { type SQL, sql } from "drizzle-orm";
import { commitsLost } from "../../lib/errors.ts";
import { isoTime } from "../../lib/time.ts";
import type { ProductType } from "../contract/product-types.ts";
import type { Transaction } from "../postgres/connect.ts";
import { multirange, textArray } from "../postgres/values.ts";
import type { Ledger, PlannedWindow } from "../words/ledger.ts";
import { keptPart, type PageCommit, type WalkEnd, type WindowMove } from "../words/page.ts";

/*
 * How a run changes what is known of a ledger's time: its row of `ledgers` has what is covered, lost and open, and
 * `windows` has the open windows, each with the cursor at which its walk resumes.
 */

/** Opens windows of an account's ledgers, each at its cursor. */
export function openWindows(
  account: string,
  planned: readonly (PlannedWindow & Pick<Ledger, "productType">)[],
): SQL {
  const startOf = ({ cursor, startedAt }: PlannedWindow) =>
    cursor === undefined || startedAt === undefined ? null : isoTime(startedAt);
  return sql`
    insert into windows (account, product_type, window_start, window_end, cursor, started_at)
    select ${account}, product_type, window_start, window_end, cursor, started_at
    from unnest(
      ${textArray(planned.map(({ productType }) => productType))}::text[],
      ${textArray(planned.map(({ window }) => isoTime(window.from)))}::timestamptz[],
      ${textArray(planned.map(({ window }) => isoTime(window.to)))}::timestamptz[],
      ${textArray(planned.map(({ cursor }) => cursor ?? null))}::text[],
      ${textArray(planned.map(startOf))}::timestamptz[]
    ) as planned (product_type, window_start, window_end, cursor, started_at)`;
}

/**
 * Stores when the first unread time of ledgers begins. The caller executes it after the statements that change their time.
 * Drizzle sends a statement when it is awaited, so an async function around this one would be sent out of turn.
 */
export const setFirstUnread = (account: string, productTypes: readonly ProductType[]): SQL => sql`
    update ledgers
    set first_unread_at = lower(
      tstzmultirange(tstzrange(lower(covered + lost + open), null)) - (covered + lost + recovered)
    )
    where account = ${account}
      and product_type = any(${textArray(productTypes)}::text[])`;

/**
 * Checks that each page's window is open, as the page before left it.
 *
 * Another cursor means that the server lost the previous page's commit. A server that was set back while
 * its connections were idle shows no other sign: without this check, 100 bills of 1,113 were missing for
 * good, and the run reported that it was complete.
 *
 * @param pages of one account.
 * @throws DatabaseError where a window is not as the page before left it.
 */
export async function checkCursors(tx: Transaction, pages: readonly PageCommit[]): Promise<void> {
  const { rows } = await tx.execute<{ number: string }>(sql`
    select number
    from windows
    join unnest(
      ${textArray(pages.map(({ ledger }) => ledger.productType))}::text[],
      ${textArray(pages.map(({ window }) => isoTime(window.from)))}::timestamptz[],
      ${textArray(pages.map(({ window }) => isoTime(window.to)))}::timestamptz[],
      ${textArray(pages.map(({ cursorBefore }) => cursorBefore ?? null))}::text[]
    ) with ordinality as page (product_type, window_start, window_end, cursor_before, number)
      on windows.account = ${pages[0]?.ledger.account}
      and windows.product_type = page.product_type
      and windows.window_start = page.window_start
      and windows.window_end = page.window_end
      and windows.cursor is not distinct from page.cursor_before`);
  const found = new Set(rows.map(({ number }) => Number(number)));
  const lost = pages.find((_, index) => !found.has(index + 1));
  if (lost === undefined) return;
  const { ledger, window } = lost;
  throw commitsLost(
    `${ledger.account}/${ledger.productType} ${isoTime(window.from)} to ${isoTime(window.to)}`,
  );
}

/** Moves or ends the window of each page, whose cursor was checked in the same transaction. */
export async function moveOrEndWindows(
  tx: Transaction,
  pages: readonly PageCommit[],
): Promise<void> {
  await Promise.all(
    pages.map((page) =>
      "end" in page.next ? endWindow(tx, page, page.next.end) : moveWindow(tx, page, page.next),
    ),
  );
}

/** Moves the cursor at which the window's walk resumes, and opens the windows that the walk hands back. */
async function moveWindow(
  tx: Transaction,
  { ledger, window, startedAt }: PageCommit,
  { cursor, handedBack = [] }: WindowMove,
): Promise<void> {
  const { from } = keptPart(window, handedBack);
  const parts = handedBack.map((part) => ({ ...ledger, window: part }));
  await Promise.all([
    tx.execute(sql`
    update windows
    set window_start = ${isoTime(from)}, cursor = ${cursor ?? null}, started_at = ${isoTime(startedAt)}
    where account = ${ledger.account}
      and product_type = ${ledger.productType}
      and window_start = ${isoTime(window.from)}
      and window_end = ${isoTime(window.to)}`),
    parts.length > 0 && tx.execute(openWindows(ledger.account, parts)),
  ]);
}

/** Replaces a window by the time that its walk has proven. */
async function endWindow(
  tx: Transaction,
  { ledger, window }: PageCommit,
  { proven, lost }: WalkEnd,
): Promise<void> {
  const { account, productType } = ledger;
  await Promise.all([
    tx.execute(sql`
    delete from windows
    where account = ${account}
      and product_type = ${productType}
      and window_start = ${isoTime(window.from)}
      and window_end = ${isoTime(window.to)}`),
    tx.execute(sql`
    update ledgers
    set
      covered = covered + ${multirange(proven)},
      lost = lost + ${multirange(lost)} - ${multirange(proven)} - recovered,
      recovered = recovered - ${multirange(proven)},
      open = open - ${multirange([window])}
    where account = ${account}
      and product_type = ${productType}`),
    tx.execute(setFirstUnread(account, [productType])),
  ]);
}
