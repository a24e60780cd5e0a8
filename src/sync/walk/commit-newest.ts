import type { Bill } from "../../contract/bill.ts";
import { OutdatedPageError } from "../../errors.ts";
import type { PageCommit, PageCounts } from "../store.ts";

// One repeat is usually enough: a repair writes a bill once, and the next answer is newer than the repair.
const askedAgainMax = 4;

/** An answer's bills, and the database's time before the question was asked. */
export type ServedBills = {
  readonly bills: readonly Bill[];
  readonly askedAfter: string | undefined;
};

/**
 * Commits a page. While the page was being fetched, a repair (`verify --heal`) may have stored different
 * content for one of its bills. The question is then asked again, and the bills are stored as they are
 * served now.
 *
 * @throws OutdatedPageError where this happens again and again, or a bill is no longer served; whatever
 *   `commit` and `askAgain` throw.
 */
export async function commitNewest(
  page: PageCommit,
  commit: (page: PageCommit) => Promise<PageCounts>,
  askAgain: () => Promise<ServedBills>,
): Promise<PageCounts> {
  let newest = page;
  for (let again = 0; again < askedAgainMax; again++) {
    try {
      return await commit(newest);
    } catch (error) {
      if (!(error instanceof OutdatedPageError)) throw error;
      newest = asServed(newest, await askAgain());
    }
  }
  return commit(newest);
}

/** The page with all bills as they are served now; the unchanged page if one of its bills is no longer served. */
function asServed(page: PageCommit, { bills, askedAfter }: ServedBills): PageCommit {
  const served = new Set(bills.map(({ billId }) => billId));
  return page.bills.every(({ billId }) => served.has(billId))
    ? { ...page, bills, askedAfter }
    : page;
}
