import PQueue from "p-queue";
import { DatabaseSilentError, LeaseLostError } from "../../lib/errors.ts";
import {
  type Database,
  inTransactionAfter,
  type Queryable,
  type Transaction,
  type TransactionOptions,
} from "../postgres/connect.ts";
import { inTwoRoundTrips } from "../postgres/two-round-trips.ts";
import { onlyRow } from "../postgres/values.ts";
import type { KeyAnswer } from "../words/account-state.ts";
import type { Ledger, LedgerPlan } from "../words/ledger.ts";
import type { PageCommit, PageCounts, ReadRows } from "../words/page.ts";
import { readUnstored } from "./bill-rows.ts";
import { type KnownTimes, readKnownTimes } from "./known-time.ts";
import { checkLease, type LeaseInUse } from "./lease.ts";
import { recordPlans } from "./record-plan.ts";
import { checkCursors, moveOrEndWindows } from "./record-time.ts";
import {
  hasOpenRejections,
  readUnstoredRejected,
  rejectRows,
  supersedeRows,
} from "./rejected-bills.ts";
import { changesOf, type LookedUpBills, lookUpBills, writeBills } from "./upsert-bills.ts";

/** An account that this run holds: no other sync writes it, or asks the exchange for it. */
export type LeasedAccount = {
  readonly store: Store;
  /** @throws LeaseLostError where another run may have taken the account. */
  assertHeld(): void;
  /**
   * Decides whether the key is this account's. Called before anything is written. Default any key is.
   * @throws where the key is another account's.
   */
  acceptKey?(answer: KeyAnswer): Promise<void>;
};

export type Store = ReturnType<typeof openStore>;

/** The tables of one account, as the run that holds it reads and writes them. */
export function openStore(db: Database, lease: LeaseInUse, limits: TransactionOptions = {}) {
  const transactions = new AccountTransactions(db, lease, limits);
  const read = <T>(work: (db: Queryable) => Promise<T>) => transactions.read(work);
  const write = <T>(work: (tx: Transaction) => Promise<T>) => transactions.write(work);
  return {
    account: lease.account,
    read,
    write,
    /** What is known of the time of these ledgers of the account. */
    knownTimes: (ledgers: readonly Ledger[]): Promise<KnownTimes> =>
      read((from) => readKnownTimes(from, ledgers)),
    /** The rows among these that are not stored as they are. */
    unstored: (ledger: Ledger, { bills, rejected }: ReadRows): Promise<ReadRows> =>
      read(async (from) => ({
        bills: await readUnstored(from, ledger, bills),
        rejected: await readUnstoredRejected(from, ledger, rejected),
      })),
    /** Replaces the open windows of each plan's ledger by the plan's, and records what is lost. */
    recordPlans: async (plans: readonly LedgerPlan[]): Promise<void> => {
      if (plans.length > 0) await write((tx) => recordPlans(tx, lease.account, plans));
    },
    /** @throws DatabaseError where the window's stored cursor is not the page's `cursorBefore`. */
    commitPage: (page: PageCommit): Promise<PageCounts> => transactions.commitPage(page),
  };
}

type WaitingPage = PromiseWithResolvers<PageCounts> & { readonly page: PageCommit };

// Bounds what one message writes: 1,600 bills take 10 s on a line of 24 kB/s, and a transaction that sends
// nothing for 15 s is ended.
const pagesMax = 16;

/**
 * The transactions of an account's holder, each of which commits only while he holds the account. One at a time: two at once
 * would both count what both store. They wait here, and not in the database, where each would keep a connection busy.
 *
 * After the server did not answer, or kept a lock too long, all further work fails at once: each page would wait as long
 * again. So it does after a commit without an answer, on which the server may still be at work.
 */
class AccountTransactions {
  readonly #db: Database;
  readonly #lease: LeaseInUse;
  readonly #limits: TransactionOptions;
  readonly #turns = new PQueue({ concurrency: 1 });
  readonly #waiting: WaitingPage[] = [];
  #isUnanswered = false;
  /** The error after which all further work fails. */
  #end: unknown;

  constructor(db: Database, lease: LeaseInUse, limits: TransactionOptions) {
    this.#db = db;
    this.#lease = lease;
    this.#limits = limits;
  }

  read<T>(work: (db: Queryable) => Promise<T>): Promise<T> {
    const found = (_: Transaction, result: T) => Promise.resolve(result);
    return this.#unlessEnded(() => inTransactionAfter(this.#db, work, found, this.#limits));
  }

  write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const check = (tx: Transaction) => checkLease(tx, this.#lease);
    const inTime = async (tx: Transaction): Promise<T> => {
      const result = await work(tx);
      // Once the lease was reported as lost, nothing is committed.
      this.#lease.assertHeld?.();
      return result;
    };
    return this.#turns.add(() =>
      this.#unlessEnded(() => inTransactionAfter(this.#db, check, inTime, this.#limits)),
    );
  }

  /** Commits a page, together with those that wait for the same turn. Each is stored whole or not at all. */
  commitPage(page: PageCommit): Promise<PageCounts> {
    const waiting = { page, ...Promise.withResolvers<PageCounts>() };
    // One turn for all waiting pages. With one each, most turns would find nothing left to do, and delay
    // other work that waits for its turn.
    if (this.#waiting.push(waiting) === 1) void this.#turns.add(() => this.#commitWaiting());
    return waiting.promise;
  }

  /** Where several pages fail together, they are tried again one by one, and only those that fail alone fail. */
  async #commitWaiting(): Promise<void> {
    const batch = this.#waiting.splice(0, pagesMax);
    if (this.#waiting.length > 0) void this.#turns.add(() => this.#commitWaiting());
    try {
      await this.#commit(batch);
    } catch (error) {
      const isFinal = batch.length === 1 || error === this.#end || error instanceof LeaseLostError;
      if (isFinal) for (const { reject } of batch) reject(error);
      else for (const one of batch) await this.#commit([one]).catch(one.reject);
    }
  }

  /**
   * A database may be 300 ms away, so pages take two round trips: all reads are sent together with BEGIN, and all writes
   * together with COMMIT. What would fail a page is read before it is written.
   *
   * A page is: BEGIN with the lease's epoch; the look-up of its bills, and of its window's cursor; the bills with their
   * revisions; its window's move or end; COMMIT. Beside these are the database's time, with which bills are stored, a setting
   * for the planner, whether rejected rows are open, which the page may supersede, and the ledger's count, so that status
   * counts no bills. Rejected rows and unknown business types have statements where a page has some.
   */
  async #commit(batch: readonly WaitingPage[]): Promise<void> {
    const pages = batch.map(({ page }) => page);
    const counts = await this.#unlessEnded(() =>
      inTwoRoundTrips(
        this.#db,
        {
          read: async (tx) => {
            const [, , bills, hasOpen] = await Promise.all([
              checkLease(tx, this.#lease),
              checkCursors(tx, pages),
              lookUpBills(tx, pages),
              hasOpenRejections(tx, pages),
            ]);
            return { bills, hasOpenRejections: hasOpen };
          },
          write: (tx, before) => {
            this.#lease.assertHeld?.();
            return writePages(tx, pages, before);
          },
          commitWaits: ({ bills }) => bills.mayDropRows,
          onUnanswered: () => {
            this.#isUnanswered = true;
          },
        },
        this.#limits,
      ),
    );
    for (const [index, { resolve }] of batch.entries())
      resolve(onlyRow(counts.slice(index, index + 1), "a page's counts"));
  }

  async #unlessEnded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#end !== undefined) throw this.#end;
    try {
      return await work();
    } catch (error) {
      if (this.#isUnanswered || error instanceof DatabaseSilentError) this.#end = error;
      throw error;
    }
  }
}

/** What is read before pages are written. */
type LookedUpPages = {
  readonly bills: LookedUpBills;
  readonly hasOpenRejections: boolean;
};

/**
 * Writes pages of one account, at most one of each window, and all that follows from them. All statements are
 * sent before the first is answered.
 */
async function writePages(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: LookedUpPages,
): Promise<readonly PageCounts[]> {
  const changes = changesOf(pages, before.bills);
  const [, rejected] = await Promise.all([
    writeBills(tx, pages, changes, before.bills),
    keepRejected(tx, pages, before),
    moveOrEndWindows(tx, pages),
  ]);
  return changes.counts.map((counted, index) => ({
    ...counted,
    rejected: onlyRow(rejected.slice(index, index + 1), "a page's rejected rows"),
  }));
}

async function keepRejected(
  tx: Transaction,
  pages: readonly PageCommit[],
  before: LookedUpPages,
): Promise<readonly number[]> {
  const superseded = before.hasOpenRejections ? supersedeRows(tx, pages) : Promise.resolve();
  const counts = pages.map(({ ledger, rejected }) => rejectRows(tx, ledger, rejected));
  const [found] = await Promise.all([Promise.all(counts), superseded]);
  return found;
}
