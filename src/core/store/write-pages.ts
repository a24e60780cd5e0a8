import type PQueue from "p-queue";
import { DatabaseSilentError, LeaseLostError } from "../../lib/errors.ts";
import type { Transaction } from "../postgres/connect.ts";
import { onlyRow } from "../postgres/values.ts";
import type { PageCommit, PageCounts } from "../words/page.ts";
import { checkCursors, moveOrEndWindows } from "./record-time.ts";
import { hasCurrentRows, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { type BillsBefore, changesOf, lookUpBills, writeBills } from "./upsert-bills.ts";

/*
 * A database may be 300 ms away, so pages take two round trips: all reads are sent together with BEGIN, and
 * all writes together with COMMIT. What would fail a page is read before it is written.
 */

/** What is read before pages are written. */
type BeforePages = {
  readonly bills: BillsBefore;
  readonly hasCurrentRows: boolean;
};

/** Reads it in one round trip. @throws DatabaseError where what the page before left is gone. */
export async function lookUpPages(
  tx: Transaction,
  pages: readonly PageCommit[],
): Promise<BeforePages> {
  const [bills, hasCurrent] = await Promise.all([
    lookUpBills(tx, pages),
    hasCurrentRows(tx, pages),
    checkCursors(tx, pages),
  ]);
  return { bills, hasCurrentRows: hasCurrent };
}

/**
 * Writes pages of one account, at most one of each window, and all that follows from them. All statements are
 * sent before the first is answered.
 */
export async function writePages(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: BeforePages,
): Promise<readonly PageCounts[]> {
  const changes = changesOf(pages, before.bills);
  const [, rejected] = await Promise.all([
    writeBills(tx, pages, changes, before.bills),
    keepRejected(tx, pages, before),
    moveOrEndWindows(tx, pages),
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
): Promise<readonly number[]> {
  const superseded = before.hasCurrentRows ? supersedeRows(tx, pages) : Promise.resolve();
  const counts = pages.map(({ ledger, rejected }) => rejectRows(tx, ledger, rejected));
  const [found] = await Promise.all([Promise.all(counts), superseded]);
  return found;
}

/** Commits pages in one transaction. Calls `onUnanswered` where it may have committed them, and fails. */
type CommitBatch = (
  pages: readonly PageCommit[],
  onUnanswered: () => void,
) => Promise<readonly PageCounts[]>;

type Waiting = PromiseWithResolvers<PageCounts> & { readonly page: PageCommit };

// Bounds what one message writes: 1,600 bills take 10 s on a line of 24 kB/s, and a transaction that sends
// nothing for 15 s is ended.
const pagesMax = 16;

/**
 * Commits the pages that wait for their turn as one batch. Each page is still stored whole or not at
 * all: where a batch fails, its pages are tried again one by one, and only those that fail alone fail.
 */
export function batchCommits(
  turns: PQueue,
  commit: CommitBatch,
): (page: PageCommit) => Promise<PageCounts> {
  const waiting: Waiting[] = [];
  let isTurnAsked = false;

  // One turn for all waiting pages. With one each, most turns would find nothing left to do, and delay
  // other work that waits for its turn.
  function askForTurn(): void {
    if (isTurnAsked || waiting.length === 0) return;
    isTurnAsked = true;
    void turns.add(commitWaiting);
  }

  async function commitWaiting(): Promise<void> {
    isTurnAsked = false;
    const batch = waiting.splice(0, pagesMax);
    askForTurn();
    let isUnanswered = false;
    const onUnanswered = () => {
      isUnanswered = true;
    };
    try {
      const counts = await commit(
        batch.map(({ page }) => page),
        onUnanswered,
      );
      for (const [place, { resolve }] of batch.entries()) resolve(countsAt(counts, place));
    } catch (error) {
      // A commit whose answer was lost may have succeeded: a second one would count pages twice.
      const isFinal =
        batch.length === 1 ||
        isUnanswered ||
        error instanceof LeaseLostError ||
        error instanceof DatabaseSilentError;
      if (isFinal) for (const { reject } of batch) reject(error);
      else for (const { page, resolve, reject } of batch) await alone(page).then(resolve, reject);
    }
  }

  const alone = async (page: PageCommit): Promise<PageCounts> =>
    countsAt(await commit([page], () => undefined), 0);

  return (page) => {
    const entry = { page, ...Promise.withResolvers<PageCounts>() };
    waiting.push(entry);
    askForTurn();
    return entry.promise;
  };
}

function countsAt(counts: readonly PageCounts[], place: number): PageCounts {
  const found = counts[place];
  if (found === undefined) throw new Error("defect: a page was committed and not counted");
  return found;
}
