import PQueue from "p-queue";
import {
  closeStreamsOfOtherMode,
  readAccountStates,
  recordAvailability,
  recordBalancesRefused,
} from "../db/accounts/account-states.ts";
import {
  type Database,
  inTransactionAfter,
  type Queryable,
  type Transaction,
  type TransactionOptions,
} from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { checkLease, type LeaseInUse } from "../db/lease/lease.ts";
import { commitLoanToValue } from "../db/reference/stored-loan-to-value.ts";
import { inTwoRoundTrips } from "../db/two-round-trips.ts";
import { DatabaseSilentError } from "../errors.ts";
import type { Store } from "../sync/store.ts";
import { readUnstored } from "./bill-rows.ts";
import { commitRecovered, readHistory, readOverlap, recordHistory } from "./history.ts";
import { readKnownTime } from "./known-time.ts";
import { recordPlan } from "./record-time.ts";
import { readUnkept } from "./rejected-bills.ts";
import { commitBalances } from "./wallet-balances.ts";
import { batchCommits, lookUpPages, writePages } from "./write-pages.ts";

/**
 * The tables of one account, as the sync that holds it writes them. After the server did not answer, or
 * kept a lock too long, all further work fails at once: each page would wait as long again. So it does after
 * a commit without an answer, on which the server may still be at work.
 */
export function openStore(db: Database, lease: LeaseInUse, limits: TransactionOptions = {}): Store {
  // One transaction at a time: two at once would both count what both store. Waiting here, and not in
  // the database, keeps no connection busy.
  const turns = new PQueue({ concurrency: 1 });
  /** The error after which all further work fails. */
  let end: unknown;
  let isUnanswered = false;
  const unlessSilent = async <T>(work: () => Promise<T>): Promise<T> => {
    if (end !== undefined) throw end;
    try {
      return await withDatabaseErrors(work);
    } catch (error) {
      if (isUnanswered || error instanceof DatabaseSilentError) end = error;
      throw error;
    }
  };
  const checkAndLook = async <Read>(
    tx: Transaction,
    look: (tx: Transaction) => Promise<Read>,
  ): Promise<Read> => {
    const [, seen] = await Promise.all([checkLease(tx, lease), look(tx)]);
    return seen;
  };
  /** Runs work in a transaction that commits only while this run holds the account. */
  const transact = <T, Read>(
    look: (tx: Transaction) => Promise<Read>,
    work: (tx: Transaction, seen: Read) => Promise<T>,
  ): Promise<T> => {
    const inTime = async (tx: Transaction, seen: Read): Promise<T> => {
      const result = await work(tx, seen);
      // Once the lease was reported as lost, nothing is committed.
      lease.assertHeld?.();
      return result;
    };
    return unlessSilent(() =>
      inTransactionAfter(db, (tx) => checkAndLook(tx, look), inTime, limits),
    );
  };
  const read = <T>(look: (db: Queryable) => Promise<T>): Promise<T> =>
    unlessSilent(() => inTransactionAfter(db, look, (_, seen) => Promise.resolve(seen), limits));
  const write = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.add(() => transact(() => Promise.resolve(), work));
  const { account } = lease;
  return {
    accountState: async () => (await read((from) => readAccountStates(from, account))).of(account),
    closeStreamsOfOtherMode: (mode, at) =>
      write((tx) => closeStreamsOfOtherMode(tx, account, mode, at)),
    recordAvailability: (told) => write((tx) => recordAvailability(tx, account, told)),
    knownTime: (stream) => read((from) => readKnownTime(from, stream)),
    unstored: (stream, { bills, rejected }) =>
      read(async (from) => ({
        bills: await readUnstored(from, stream, bills),
        rejected: await readUnkept(from, stream, rejected),
      })),
    recordPlan: (plan) => write((tx) => recordPlan(tx, plan)),
    commitPage: batchCommits(turns, (pages, onUnanswered) =>
      unlessSilent(() =>
        inTwoRoundTrips(
          db,
          {
            read: (tx) => checkAndLook(tx, (open) => lookUpPages(open, pages)),
            write: (tx, before) => {
              lease.assertHeld?.();
              return writePages(tx, pages, before);
            },
            isChecked: ({ bills }) => bills.isWatched,
            onUnanswered() {
              isUnanswered = true;
              onUnanswered();
            },
          },
          limits,
        ),
      ),
    ),
    history: (stream) => read((from) => readHistory(from, stream)),
    overlap: (stream, overlapMs) => read((from) => readOverlap(from, stream, overlapMs)),
    recordHistory: (stream, evidence) => write((tx) => recordHistory(tx, stream, evidence)),
    commitRecovered: (commit) => write((tx) => commitRecovered(tx, commit)),
    commitLoanToValue: (commit) => write((tx) => commitLoanToValue(tx, commit)),
    commitBalances: (commit) => write((tx) => commitBalances(tx, account, commit)),
    recordBalancesRefused: (at) => write((tx) => recordBalancesRefused(tx, account, at)),
  };
}
