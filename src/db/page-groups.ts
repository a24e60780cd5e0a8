import type PQueue from "p-queue";
import { DatabaseSilentError, LeaseLostError } from "../errors.ts";
import type { PageCommit, PageCounts } from "../sync/store.ts";

/** Commits pages in one transaction. Tells when all is written, right before the commit. */
export type CommitGroup = (
  pages: readonly PageCommit[],
  onWritten: () => void,
) => Promise<readonly PageCounts[]>;

type Waiting = PromiseWithResolvers<PageCounts> & { readonly page: PageCommit };

// More than an account's walks hold at once: it bounds what one statement writes.
const pagesMax = 32;

/**
 * Commits the pages that wait for their turn together. Each is still stored whole or not at all:
 * where a group fails, its pages are tried again one by one, and those that fail alone fail.
 */
export function inGroups(
  turns: PQueue,
  commit: CommitGroup,
): (page: PageCommit) => Promise<PageCounts> {
  const waiting: Waiting[] = [];
  let isTurnAsked = false;

  // One turn for all that wait, and not one each: most would find nothing left to do, and what
  // else waits for its turn would stand behind them.
  function askForTurn(): void {
    if (isTurnAsked || waiting.length === 0) return;
    isTurnAsked = true;
    void turns.add(commitWaiting);
  }

  async function commitWaiting(): Promise<void> {
    isTurnAsked = false;
    const group = takeGroup(waiting);
    askForTurn();
    let isWritten = false;
    const onWritten = () => {
      isWritten = true;
    };
    try {
      const counts = await commit(
        group.map(({ page }) => page),
        onWritten,
      );
      for (const [place, { resolve }] of group.entries()) resolve(countsAt(counts, place));
    } catch (error) {
      // A commit whose answer was lost may have been done: a second one would count pages twice.
      const isFinal =
        group.length === 1 ||
        isWritten ||
        error instanceof LeaseLostError ||
        error instanceof DatabaseSilentError;
      if (isFinal) for (const { reject } of group) reject(error);
      else for (const { page, resolve, reject } of group) await alone(page).then(resolve, reject);
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

/** Those that wait longest; one page of a window, whose checkpoint moves once a transaction. */
function takeGroup(waiting: Waiting[]): Waiting[] {
  const windows = new Set<string>();
  const repeated = waiting.findIndex(({ page: { stream, window } }) => {
    const known = windows.size;
    windows.add(`${stream.productType} ${window.from} ${window.to}`);
    return windows.size === known;
  });
  return waiting.splice(0, Math.min(pagesMax, repeated === -1 ? waiting.length : repeated));
}

function countsAt(counts: readonly PageCounts[], place: number): PageCounts {
  const found = counts[place];
  if (found === undefined) throw new Error("defect: a page was committed and not counted");
  return found;
}
