import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import type { Bill, BillText } from "../contract/bill.ts";
import { type EpochMs, isoTime } from "../contract/time.ts";
import { type Database, inTransaction, type Queryable, type Transaction } from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import type { LeaseInUse } from "../db/lease/lease-kind.ts";
import type { LockWaits } from "../db/lease/lock-waits.ts";
import { checkVerifyLease } from "../db/lease/verify-lease.ts";
import { msOf, timeFrom, timeText } from "../db/sql/time-text.ts";
import type { Interval } from "../sync/intervals.ts";
import type { Stream } from "../sync/store.ts";
import type { DifferingBill, Repair, StoredBill, VerifyStore } from "../sync/verify-store.ts";
import { contents, isSame, readBillsByKey, textOf } from "./bill-rows.ts";
import { areResolved, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { upsertBills } from "./upsert-bills.ts";

export type VerifyStoreOptions = {
  /** The whole run's limits. Default a limit for each statement and transaction. */
  readonly lockWaits?: LockWaits;
};

/** Runs work that only reads. */
type Read = <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;

/** The tables of one account, as a verify compares them with the exchange's answers and repairs them. */
export function openVerifyStore(
  db: Database,
  lease: LeaseInUse,
  runId: string,
  { lockWaits }: VerifyStoreOptions = {},
): VerifyStore {
  const read: Read = (work) =>
    withDatabaseErrors(() => (lockWaits === undefined ? work(db) : lockWaits.transact(work)));
  const transact = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    withDatabaseErrors(() =>
      lockWaits === undefined ? inTransaction(db, work) : lockWaits.transact(work),
    );
  // Writers wait here without a connection, since the verify lease's renewal needs one too.
  const turns = new PQueue({ concurrency: 1 });
  return {
    now: () => withDatabaseErrors(() => databaseNow(db)),
    compare: (stream, bills, since) => read((from) => compareBills(from, stream, bills, since)),
    stored: (stream, window, since) => storedBills(read, stream, window, since),
    accepted: (stream, rows) => read((from) => areResolved(from, stream, rows)),
    heal: (repair) =>
      turns.add(() =>
        transact(async (tx) => {
          await checkVerifyLease(tx, lease);
          const healed = await heal(tx, repair, runId);
          lease.assertHeld?.();
          return healed;
        }),
      ),
  };
}

async function databaseNow(db: Database): Promise<string> {
  // To the millisecond, like the column that it is compared with.
  const { rows } = await db.execute<{ now: string }>(
    sql`select ${timeText(sql`clock_timestamp()::timestamptz(3)`)} as now`,
  );
  return rows[0]?.now ?? "";
}

async function compareBills(
  db: Queryable,
  { account, productType }: Stream,
  bills: readonly Bill[],
  since: string,
): Promise<readonly DifferingBill[]> {
  const keys = bills.map(({ billId }) => ({ productType, billId }));
  const rows = await readBillsByKey(db, account, keys);
  const stored = new Map(rows.map((row) => [row.bill.billId, row]));
  return bills.flatMap((bill): DifferingBill[] => {
    const row = stored.get(bill.billId);
    if (row === undefined) return [{ bill, stored: undefined }];
    const served = textOf(bill);
    if (isSame(row.bill, served)) return [];
    const fields = contents.flatMap(({ name, field }) =>
      row.bill[field] === served[field]
        ? []
        : [{ field: name, stored: shown(row.bill, field), served: shown(served, field) }],
    );
    const { ingestedAt } = row;
    return [{ bill, stored: { ingestedAt, isLate: ingestedAt >= since, fields } }];
  });
}

const shown = (bill: BillText, field: keyof BillText): string | null =>
  field === "cTimeMs" ? isoTime(timeFrom(bill.cTimeMs)) : bill[field];

// A row has some 100 bytes.
const batchRows = 10_000;

async function* storedBills(
  read: Read,
  { account, productType }: Stream,
  { from, to }: Interval,
  since: string,
): AsyncGenerator<readonly StoredBill[]> {
  let after: { readonly cTime: EpochMs; readonly billId: string } = { cTime: from, billId: "" };
  for (;;) {
    const { rows } = await read((db) =>
      db.execute<{ billId: string; cTimeMs: string; isLate: boolean }>(sql`
        select
          bill_id as "billId",
          ${msOf(sql`c_time`)} as "cTimeMs",
          ingested_at >= ${since}::timestamptz as "isLate"
        from bills
        where account = ${account}
          and product_type = ${productType}
          and c_time >= ${isoTime(after.cTime)}
          and c_time < ${isoTime(to)}
          and (c_time, bill_id) > (${isoTime(after.cTime)}::timestamptz, ${after.billId})
        order by c_time, bill_id
        limit ${batchRows}`),
    );
    const batch = rows.map(({ cTimeMs, ...bill }) => ({
      ...bill,
      cTime: timeFrom(cTimeMs),
    }));
    yield batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < batchRows) return;
    after = last;
  }
}

async function heal(
  tx: Transaction,
  { stream, differing, rejected }: Repair,
  runId: string,
): Promise<ReadonlySet<string>> {
  const same = await stillAsCompared(tx, stream, differing);
  const bills = differing.map(({ bill }) => bill).filter(({ billId }) => same.has(billId));
  await upsertBills(tx, [{ stream, bills }]);
  await supersedeRows(tx, [{ stream, bills, rejected }]);
  await rejectRows(tx, stream, runId, rejected);
  return same;
}

/**
 * The bills that are stored as they were when they were compared, or still not stored. A bill that a
 * sync has stored meanwhile may be newer than the content read here, and stays.
 */
async function stillAsCompared(
  tx: Transaction,
  { account, productType }: Stream,
  differing: readonly DifferingBill[],
): Promise<ReadonlySet<string>> {
  const keys = differing.map(({ bill: { billId } }) => ({ productType, billId }));
  const rows = await readBillsByKey(tx, account, keys);
  const ingestedAt = new Map(rows.map((row) => [row.bill.billId, row.ingestedAt]));
  const same = differing.filter(
    ({ bill, stored }) => ingestedAt.get(bill.billId) === stored?.ingestedAt,
  );
  return new Set(same.map(({ bill }) => bill.billId));
}
