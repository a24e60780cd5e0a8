import type { Bill } from "../contract/bill.ts";
import type { Transaction } from "../postgres/connect.ts";
import type { Ledger } from "../words/ledger.ts";
import {
  type BillCounts,
  type BillsOfPage,
  changesOf,
  lookUpBills,
  writeBills,
} from "./upsert-bills.ts";

/* Bills that come otherwise than by a window's pages. */

/**
 * Stores bills by their key, in the order of the pages. A bill that is stored unchanged is not
 * rewritten. One that is stored with other content is overwritten, and its old content goes to
 * `bill_revisions`. Decimals are compared as text: 1.0 that becomes 1.00 is a change. A business
 * type that is not in the program's list gets a row, so that every bill can be joined to one.
 *
 * All pages belong to one account, which the caller holds: two writers at once would both count the
 * bills that both store.
 *
 * @returns the counts of each page, in the order of the pages.
 */
export async function upsertBills(
  tx: Transaction,
  pages: readonly BillsOfPage[],
): Promise<readonly BillCounts[]> {
  const before = await lookUpBills(tx, pages);
  const changes = changesOf(pages, before);
  await writeBills(tx, pages, changes, before);
  return changes.counts;
}

/** Stores those bills of tax records of which no other content is stored. */
export async function addMissing(
  tx: Transaction,
  ledger: Ledger,
  bills: readonly Bill[],
): Promise<BillCounts> {
  const before = await lookUpBills(tx, [{ ledger, bills }]);
  const stored = new Set(before.stored.map(({ bill }) => bill.billId));
  const missing = bills.filter(({ billId }) => !stored.has(billId));
  const pages = [{ ledger, bills: missing }];
  const changes = changesOf(pages, before);
  await writeBills(tx, pages, changes, before);
  const [counts = { new: 0, unchanged: 0, restated: 0 }] = changes.counts;
  return { ...counts, unchanged: bills.length - missing.length };
}
