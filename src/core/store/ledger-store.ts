import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import { DatabaseSilentError } from "../../lib/errors.ts";
import { isoTime } from "../../lib/time.ts";
import {
  commitRecovered,
  readOverlap,
  readRecoveryState,
  recordTaxComparison,
} from "../../wings/recovery/recovery.ts";
import type { Bill, BillText } from "../contract/bill.ts";
import {
  type Database,
  inTransaction,
  inTransactionAfter,
  type Queryable,
  type Transaction,
  type TransactionOptions,
} from "../postgres/connect.ts";
import { withDatabaseErrors } from "../postgres/database-errors.ts";
import { inTwoRoundTrips } from "../postgres/two-round-trips.ts";
import { msOf, timeFrom } from "../postgres/values.ts";
import type { DifferingBill, Store, VerifyStore } from "../words/nouns.ts";
import {
  endLedgersOfOtherMode,
  readAccountStates,
  recordAvailability,
  recordBalancesRefused,
} from "./accounts/account-states.ts";
import { contents, isSame, readUnstored, type StoredRow, textOf } from "./bill-rows.ts";
import { readKnownTime } from "./known-time.ts";
import { checkLease, type LeaseInUse } from "./lease/lease.ts";
import { recordPlan } from "./record-time.ts";
import { commitLoanToValue } from "./reference/stored-loan-to-value.ts";
import { areClosed, readUnkept, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { changesOf, lookUpBills, writeBills } from "./upsert-bills.ts";
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
  const check = (tx: Transaction) => checkLease(tx, lease);
  const read = <T>(look: (db: Queryable) => Promise<T>): Promise<T> =>
    unlessSilent(() => inTransactionAfter(db, look, (_, seen) => Promise.resolve(seen), limits));
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
    accountState: async () => (await read((from) => readAccountStates(from, account))).of(account),
    endLedgersOfOtherMode: (mode, at) =>
      write((tx) => endLedgersOfOtherMode(tx, account, mode, at)),
    recordAvailability: (told) => write((tx) => recordAvailability(tx, account, told)),
    knownTime: (ledger) => read((from) => readKnownTime(from, ledger)),
    unstored: (ledger, { bills, rejected }) =>
      read(async (from) => ({
        bills: await readUnstored(from, ledger, bills),
        rejected: await readUnkept(from, ledger, rejected),
      })),
    recordPlan: (plan) => write((tx) => recordPlan(tx, plan)),
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
    recoveryState: (ledger) => read((from) => readRecoveryState(from, ledger)),
    overlap: (ledger, overlapMs) => read((from) => readOverlap(from, ledger, overlapMs)),
    recordTaxComparison: (ledger, evidence) =>
      write((tx) => recordTaxComparison(tx, ledger, evidence)),
    commitRecovered: (commit) => write((tx) => commitRecovered(tx, commit)),
    commitLoanToValue: (commit) => write((tx) => commitLoanToValue(tx, commit)),
    commitBalances: (commit) => write((tx) => commitBalances(tx, account, commit)),
    recordBalancesRefused: (at) => write((tx) => recordBalancesRefused(tx, account, at)),
  };
}

/** The tables of one account, as a verify compares them with the exchange's answers and repairs them. */
export function openVerifyStore(
  db: Database,
  lease: LeaseInUse,
  limits: TransactionOptions = {},
): VerifyStore {
  // One transaction at a time. Waiting here, and not in the database, keeps no connection busy.
  const turns = new PQueue({ concurrency: 1 });
  const inTurn = <T>(act: (tx: Transaction) => Promise<T>): Promise<T> =>
    turns.add(() => withDatabaseErrors(() => inTransaction(db, act, limits)));
  return {
    compare: (ledger, rows, isRepaired) =>
      inTurn(async (tx) => {
        const { bills, rejected } = rows;
        if (isRepaired) await checkLease(tx, lease);
        const { stored } = await lookUpBills(tx, [{ ledger, bills }]);
        const differing = differingOf(bills, stored);
        if (isRepaired) {
          const others = new Set(differing.map(({ bill }) => bill));
          const equal = bills.filter((bill) => !others.has(bill));
          await supersedeRows(tx, [{ ledger, bills: equal, rejected }]);
          lease.assertHeld?.();
        }
        return { differing, areAccepted: await areClosed(tx, ledger, rejected) };
      }),
    repair: (ledger, rows) =>
      inTurn(async (tx) => {
        const pages = [{ ledger, ...rows }];
        await checkLease(tx, lease);
        const before = await lookUpBills(tx, pages);
        await writeBills(tx, pages, changesOf(pages, before), before);
        await supersedeRows(tx, pages);
        await rejectRows(tx, ledger, rows.rejected);
        lease.assertHeld?.();
      }),
    async stored({ account, productType }, { from, to }) {
      const { rows } = await withDatabaseErrors(() =>
        db.execute<{ billId: string; cTimeMs: string }>(sql`
          select
            bill_id as "billId",
            ${msOf(sql`c_time`)} as "cTimeMs"
          from bills
          where account = ${account}
            and product_type = ${productType}
            and c_time >= ${isoTime(from)}
            and c_time < ${isoTime(to)}
          order by c_time, bill_id`),
      );
      return rows.map(({ billId, cTimeMs }) => ({ billId, cTime: timeFrom(cTimeMs) }));
    },
  };
}

/** The bills that are not stored exactly as they are. */
function differingOf(bills: readonly Bill[], rows: readonly StoredRow[]): readonly DifferingBill[] {
  const stored = new Map(rows.map(({ bill }) => [bill.billId, bill]));
  return bills.flatMap((bill): DifferingBill[] => {
    const before = stored.get(bill.billId);
    const served = textOf(bill);
    if (before === undefined) return [{ bill, changes: undefined }];
    if (isSame(before, served)) return [];
    const changes = contents
      .filter(({ field }) => before[field] !== served[field])
      .map(({ name, field }) => ({
        field: name,
        stored: shown(before, field),
        served: shown(served, field),
      }));
    return [{ bill, changes }];
  });
}

const shown = (bill: BillText, field: keyof BillText): string | null =>
  field === "cTimeMs" ? isoTime(timeFrom(bill.cTimeMs)) : bill[field];
