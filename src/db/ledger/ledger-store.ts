import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import { DatabaseSilentError } from "../../errors.ts";
import type { Interval } from "../../sync/intervals.ts";
import type { PageCommit, PageCounts, Store } from "../../sync/store.ts";
import { readAccountStates, recordAvailability, recordMode } from "../accounts/account-states.ts";
import { type Database, inTransaction, type Queryable, type Transaction } from "../connect.ts";
import { withDatabaseErrors } from "../database-errors.ts";
import { refreshDaysOf, refreshSomeDays } from "../days/refresh-days.ts";
import type { LeaseInUse } from "../lease/lease-kind.ts";
import type { LockWaits } from "../lease/lock-waits.ts";
import { checkSyncLease } from "../lease/sync-lease.ts";
import { commitLoanToValue } from "../reference/stored-loan-to-value.ts";
import { onlyRow } from "../sql/only-row.ts";
import { timeText } from "../sql/time-text.ts";
import { batchCommits } from "./batch-commits.ts";
import { divideWindow, endWindows, moveCursors, recordPlan } from "./checkpoints.ts";
import { readKnownTime } from "./known-time.ts";
import { rejectRows, supersedeRows } from "./rejected-bills.ts";
import { upsertBills } from "./upsert-bills.ts";

/**
 * The tables of one held account, as the sync writes them. Where the server was silent, or held a
 * lock for too long, nothing is tried again: each page would wait as long as the one before.
 *
 * @param lockWaits those of the whole run. Default a limit for each transaction.
 */
export function openStore(
  db: Database,
  lease: LeaseInUse,
  runId: string,
  lockWaits?: LockWaits,
): Store {
  // What two of them count, they would count alike: one at a time. Who waits has no connection.
  const turns = new PQueue({ concurrency: 1 });
  let silence: DatabaseSilentError | undefined;
  let time: string | undefined;
  const unlessSilent = async <T>(work: () => Promise<T>): Promise<T> => {
    if (silence !== undefined) throw silence;
    try {
      return await withDatabaseErrors(work);
    } catch (error) {
      if (error instanceof DatabaseSilentError) silence = error;
      throw error;
    }
  };
  /** One transaction, in which the account is certainly still this run's. */
  const transact = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => {
    const inTime = async (tx: Transaction): Promise<T> => {
      const result = await work(tx);
      // What is called lost is lost: nothing is committed after that was said.
      lease.assertHeld?.();
      return result;
    };
    const check = async (tx: Transaction): Promise<void> => {
      time = await checkSyncLease(tx, lease);
    };
    return unlessSilent(() =>
      lockWaits === undefined
        ? inTransaction(db, inTime, { check })
        : lockWaits.transact(inTime, { check }),
    );
  };
  const read = <T>(work: (db: Queryable) => Promise<T>): Promise<T> =>
    unlessSilent(() => (lockWaits === undefined ? work(db) : lockWaits.transact(work)));
  const write = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.add(() => transact(work));
  const refreshDays = (within?: Interval): Promise<void> =>
    refreshDaysOf(
      (scope) => turns.add(() => refreshSomeDays(db, scope, (tx) => checkSyncLease(tx, lease))),
      { account: lease.account, ...(within && { within }) },
    );

  const { account } = lease;
  return {
    accountState: async () => (await read((from) => readAccountStates(from, account))).of(account),
    recordMode: (mode, at) => write((tx) => recordMode(tx, account, mode, at)),
    recordAvailability: (told) => write((tx) => recordAvailability(tx, account, told)),
    knownTime: (stream) => read((from) => readKnownTime(from, stream)),
    time: () => time,
    recordPlan: (plan) => write((tx) => recordPlan(tx, plan, runId)),
    commitPage: batchCommits(turns, async (pages, onWritten) => {
      const { counts, endedAt } = await transact(async (tx) => {
        const written = await writePages(tx, pages, runId);
        onWritten();
        return written;
      });
      // What this run stored itself is no repair beside the next question.
      time = endedAt;
      return counts;
    }),
    refreshDays,
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
): Promise<{ readonly counts: readonly PageCounts[]; readonly endedAt: string }> {
  const bills = await upsertBills(tx, pages);
  // Each of them looks at other tables or rows: one round trip where nothing was rejected.
  const [rejected, endedAt] = await Promise.all([
    keepRejected(tx, pages, runId),
    readEnd(tx),
    endWindows(tx, pages, runId),
    moveCursors(tx, pages, runId),
  ]);
  const counts = bills.map((counted, place) => ({
    ...counted,
    rejected: onlyRow(rejected.slice(place, place + 1), "a page's rejected rows"),
  }));
  return { counts, endedAt };
}

/** A time of the database, as text, that no bill was stored after which this transaction has stored. */
async function readEnd(tx: Transaction): Promise<string> {
  const time = timeText(sql`(clock_timestamp()::timestamptz(3) + interval '1 ms')`);
  const { rows } = await tx.execute<{ time: string }>(sql`select ${time} as time`);
  return onlyRow(rows, "the database's time").time;
}

async function keepRejected(
  tx: Transaction,
  pages: readonly PageCommit[],
  runId: string,
): Promise<readonly number[]> {
  await supersedeRows(tx, pages);
  const counts: number[] = [];
  for (const { stream, rejected } of pages) {
    counts.push(await rejectRows(tx, stream, runId, rejected));
  }
  return counts;
}
