import type { Transaction } from "../postgres/connect.ts";
import { onlyRow } from "../postgres/values.ts";
import type { PageCommit, PageCounts } from "../words/page.ts";
import { checkCursors, moveOrEndWindows } from "./record-time.ts";
import { hasOpenRejections, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { changesOf, type LookedUpBills, lookUpBills, writeBills } from "./upsert-bills.ts";

/*
 * A database may be 300 ms away, so pages take two round trips: all reads are sent together with BEGIN, and
 * all writes together with COMMIT. What would fail a page is read before it is written.
 *
 * A page is: BEGIN with the lease's epoch; the look-up of its bills, and of its window's cursor; the bills with their revisions;
 * its window's move or end; COMMIT. Beside these are the database's time, with which bills are stored, a setting for the planner,
 * whether rejected rows are open, which the page may supersede, and the ledger's count, so that status counts no bills. Rejected
 * rows and unknown business types have statements where a page has some.
 */

/** What is read before pages are written. */
type LookedUpPages = {
  readonly bills: LookedUpBills;
  readonly hasOpenRejections: boolean;
};

/** Reads it in one round trip. @throws DatabaseError where what the page before left is gone. */
export async function lookUpPages(
  tx: Transaction,
  pages: readonly PageCommit[],
): Promise<LookedUpPages> {
  const [bills, hasOpen] = await Promise.all([
    lookUpBills(tx, pages),
    hasOpenRejections(tx, pages),
    checkCursors(tx, pages),
  ]);
  return { bills, hasOpenRejections: hasOpen };
}

/**
 * Writes pages of one account, at most one of each window, and all that follows from them. All statements are
 * sent before the first is answered.
 */
export async function writePages(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: LookedUpPages,
): Promise<readonly PageCounts[]> {
  const changes = changesOf(pages, before.bills);
  const [, rejected] = await Promise.all([
    writeBills(tx, pages, changes, before.bills),
    keepRejected(tx, pages, before),
    moveOrEndWindows(tx, pages),
  ]);
  return changes.counts.map((counted, index) => ({
    ...counted,
    rejected: onlyRow(rejected.slice(index, index + 1), "a page's rejected rows"),
  }));
}

async function keepRejected(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: LookedUpPages,
): Promise<readonly number[]> {
  const superseded = before.hasOpenRejections ? supersedeRows(tx, pages) : Promise.resolve();
  const counts = pages.map(({ ledger, rejected }) => rejectRows(tx, ledger, rejected));
  const [found] = await Promise.all([Promise.all(counts), superseded]);
  return found;
}
