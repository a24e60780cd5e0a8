import type { Bill } from "../../contract/bill.ts";
import { OutdatedPageError } from "../../errors.ts";
import type { PageCommit, PageCounts } from "../store.ts";

// A repair stores a bill's content once, so the next answer is newer than the repair.
const askedAgainMax = 4;

/** The bills of an answer, and the database's time before the question was asked. */
export type ServedBills = {
  readonly bills: readonly Bill[];
  readonly askedAfter: string | undefined;
};

/**
 * Commits a page. After the page was asked for, a repair (`verify --heal`) may have stored other
 * content of one of its bills. The question is then asked again, and the bills are stored as they are
 * served now.
 *
 * @throws OutdatedPageError where that happens again and again, or a bill is no longer served; whatever
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

/** The page with its bills as they are served now; the page as it was if one of them is not served. */
function asServed(page: PageCommit, { bills, askedAfter }: ServedBills): PageCommit {
  const served = new Map(bills.map((bill) => [bill.billId, bill]));
  const newest = page.bills.flatMap(({ billId }) => served.get(billId) ?? []);
  return newest.length === page.bills.length ? { ...page, bills: newest, askedAfter } : page;
}
