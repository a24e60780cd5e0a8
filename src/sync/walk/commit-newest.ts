import type { Bill } from "../../contract/bill.ts";
import { OutdatedPageError } from "../../errors.ts";
import type { PageCommit, PageCounts } from "../store.ts";

// A repair stores a bill's content once; another answer is newer than that.
const askedAgainMax = 4;

/** What a question was answered with, and the database's time before it was asked. */
export type ServedBills = {
  readonly bills: readonly Bill[];
  readonly askedAfter: string | undefined;
};

/**
 * Commits a page. Where a repair has stored other content of one of its bills since the page was
 * asked for, its question is asked again, and its bills are stored as they are served then.
 *
 * @throws OutdatedPageError where that happens again and again, or a bill is served no more; whatever
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

/** The page with its bills as they are served now; unchanged where one of them is not. */
function asServed(page: PageCommit, { bills, askedAfter }: ServedBills): PageCommit {
  const served = new Map(bills.map((bill) => [bill.billId, bill]));
  const newest = page.bills.flatMap(({ billId }) => served.get(billId) ?? []);
  return newest.length === page.bills.length ? { ...page, bills: newest, askedAfter } : page;
}
