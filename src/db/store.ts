import PQueue from "p-queue";
import type { PageCommit, PageCounts, Store } from "../sync/store.ts";
import { divideWindow, endWindow, moveCursors, readKnownTime, recordPlan } from "./checkpoints.ts";
import { type Database, inTransaction, type Transaction } from "./connect.ts";
import { withDatabaseErrors } from "./database-errors.ts";
import { checkLease, type Lease } from "./lease.ts";
import { commitLoanToValue } from "./loan-to-value.ts";
import { inGroups } from "./page-groups.ts";
import { rejectRows, supersedeRows } from "./rejected-bills.ts";
import { upsertBills } from "./upsert-bills.ts";

/** The tables of one held account, as the sync writes them. */
export function openStore(
  db: Database,
  lease: Pick<Lease, "account" | "epoch">,
  runId: string,
): Store {
  // The account's row lets its writers through one at a time. They wait for it here, not each
  // with a connection: the lease's renewal needs one too.
  const turns = new PQueue({ concurrency: 1 });
  /** One transaction, in which the account is certainly still this run's. */
  const transact = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    withDatabaseErrors(() =>
      inTransaction(db, async (tx) => {
        await checkLease(tx, lease);
        return work(tx);
      }),
    );
  const write = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.add(() => transact(work));

  return {
    knownTime: (stream) => withDatabaseErrors(() => readKnownTime(db, stream)),
    recordPlan: (plan) => write((tx) => recordPlan(tx, plan, runId)),
    commitPage: inGroups(turns, (pages, onWritten) =>
      transact(async (tx) => {
        const counts = await writePages(tx, pages, runId);
        onWritten();
        return counts;
      }),
    ),
    divideWindow: (stream, window, cuts) =>
      write((tx) => divideWindow(tx, stream, window, cuts, runId)),
    commitLoanToValue: (commit) => write((tx) => commitLoanToValue(tx, commit)),
  };
}

/** Writes pages of one account, no two of them of one window, and all that they change. */
async function writePages(
  tx: Transaction,
  pages: readonly PageCommit[],
  runId: string,
): Promise<readonly PageCounts[]> {
  const counts = await upsertBills(tx, pages);
  await supersedeRows(tx, pages);
  const rejected: number[] = [];
  for (const page of pages) {
    rejected.push(await rejectRows(tx, page.stream, runId, page.rejected));
    if ("end" in page.next) await endWindow(tx, page, page.next.end, runId);
  }
  await moveCursors(tx, pages, runId);
  return counts.map((counted, place) => ({ ...counted, rejected: rejected[place] ?? 0 }));
}
