import PQueue from "p-queue";
import { DatabaseSilentError } from "../../lib/errors.ts";
import type { EpochMs } from "../../lib/time.ts";
import { unifiedWallet, type Wallet } from "../contract/product-types.ts";
import {
  type Database,
  inTransactionAfter,
  type Queryable,
  type Transaction,
  type TransactionOptions,
} from "../postgres/connect.ts";
import { withDatabaseErrors } from "../postgres/database-errors.ts";
import { inTwoRoundTrips } from "../postgres/two-round-trips.ts";
import type { AccountMode, AccountState, Availability, KeyAnswer } from "../words/account-state.ts";
import type { KnownTime, Ledger, LedgerPlan } from "../words/ledger.ts";
import type { ReadRows } from "../words/page.ts";
import {
  endLedgersOfOtherMode,
  readAccountStates,
  recordAvailability,
  recordRefused,
} from "./accounts/account-states.ts";
import { readUnstored } from "./bill-rows.ts";
import { readKnownTime } from "./known-time.ts";
import { checkLease, type LeaseInUse } from "./lease.ts";
import { recordPlan } from "./record-time.ts";
import {
  commitLoanToValue,
  type LoanToValueChange,
  type LoanToValueCommit,
} from "./reference/stored-loan-to-value.ts";
import { readUnkept } from "./rejected-bills.ts";
import { type BalancesCommit, commitBalances } from "./wallet-balances.ts";
import {
  commitWithdrawals,
  readUnrecorded,
  type UnrecordedWithdrawals,
  type WithdrawalsCommit,
} from "./withdrawals.ts";
import { batchCommits, lookUpPages, writePages } from "./write-pages.ts";

export type Store = ReturnType<typeof openStore>;

/** An account that this run holds: no other sync writes it, or asks the exchange for it. */
export type LeasedAccount = {
  readonly store: Store;
  /** @throws LeaseLostError where another run may have taken the account. */
  assertHeld(): void;
  /**
   * Decides whether the key is this account's. Called before anything is written. Default any key is.
   * @throws where the key is another account's.
   */
  takeKey?(answer: KeyAnswer): Promise<void>;
};

/**
 * The tables of one account, as the sync that holds it writes them. After the server did not answer, or
 * kept a lock too long, all further work fails at once: each page would wait as long again. So it does after
 * a commit without an answer, on which the server may still be at work.
 */
export function openStore(db: Database, lease: LeaseInUse, limits: TransactionOptions = {}) {
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
  const check = (tx: Transaction) => checkLease(tx, lease);
  const read = <T>(work: (db: Queryable) => Promise<T>): Promise<T> =>
    unlessSilent(() => inTransactionAfter(db, work, (_, found) => Promise.resolve(found), limits));
  /** Runs work in a transaction that commits only while this run holds the account. */
  const write = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => {
    const inTime = async (tx: Transaction): Promise<T> => {
      const result = await work(tx);
      // Once the lease was reported as lost, nothing is committed.
      lease.assertHeld?.();
      return result;
    };
    return turns.add(() => unlessSilent(() => inTransactionAfter(db, check, inTime, limits)));
  };
  const { account } = lease;
  return {
    /** What a wing reads of the account. */
    read,
    /** What a wing writes of the account. */
    write,
    /** What earlier runs have learned about the account. */
    accountState: async (): Promise<AccountState> =>
      (await read((from) => readAccountStates(from, account))).of(account),
    /** Records the account's mode. Ledgers of the other mode end, and ledgers of this mode begin again. */
    endLedgersOfOtherMode: (mode: AccountMode, at: EpochMs): Promise<void> =>
      write((tx) => endLedgersOfOtherMode(tx, account, mode, at)),
    recordAvailability: (told: Availability): Promise<void> =>
      write((tx) => recordAvailability(tx, account, told)),
    knownTime: (ledger: Ledger): Promise<KnownTime> => read((from) => readKnownTime(from, ledger)),
    /** The rows among these that are not stored as they are. */
    unstored: (ledger: Ledger, { bills, rejected }: ReadRows): Promise<ReadRows> =>
      read(async (from) => ({
        bills: await readUnstored(from, ledger, bills),
        rejected: await readUnkept(from, ledger, rejected),
      })),
    /** Replaces the ledger's open windows by the plan's, and records what is lost. */
    recordPlan: (plan: LedgerPlan): Promise<void> => write((tx) => recordPlan(tx, plan)),
    /** @throws DatabaseError where the window's stored place is not the page's `after`. */
    commitPage: batchCommits(turns, (pages, onUnanswered) =>
      unlessSilent(() =>
        inTwoRoundTrips(
          db,
          {
            async read(tx) {
              const [, before] = await Promise.all([check(tx), lookUpPages(tx, pages)]);
              return before;
            },
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
    /** Stores a record. If it equals the last one, only that record's time is extended. */
    commitLoanToValue: (commit: LoanToValueCommit): Promise<LoanToValueChange> =>
      write((tx) => commitLoanToValue(tx, commit)),
    commitBalances: (commit: BalancesCommit): Promise<void> =>
      write((tx) => commitBalances(tx, account, commit)),
    /** @param at the exchange's time; undefined where the wallet's balances are no longer refused. */
    recordBalancesRefused: (wallet: Wallet, at: EpochMs | undefined): Promise<void> => {
      const row = { account, productType: wallet === unifiedWallet ? "" : wallet };
      return write((tx) => recordRefused(tx, row, "balances_refused_at", at));
    },
    unrecordedWithdrawals: (now: EpochMs): Promise<readonly UnrecordedWithdrawals[]> =>
      read((from) => readUnrecorded(from, account, now)),
    commitWithdrawals: (commit: WithdrawalsCommit): Promise<void> =>
      write((tx) => commitWithdrawals(tx, account, commit)),
    /** @param at the exchange's time; undefined where the records are no longer refused. */
    recordWithdrawalsRefused: (at: EpochMs | undefined): Promise<void> =>
      write((tx) => recordRefused(tx, { account, productType: "" }, "withdrawals_refused_at", at)),
  };
}
