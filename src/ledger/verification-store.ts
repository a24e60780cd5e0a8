import { sql } from "drizzle-orm";
import PQueue from "p-queue";
import type { Bill, BillText } from "../contract/bill.ts";
import { type EpochMs, isoTime } from "../contract/time.ts";
import {
  type Database,
  inTransaction,
  type Queryable,
  type Transaction,
  type TransactionOptions,
} from "../db/connect.ts";
import { withDatabaseErrors } from "../db/database-errors.ts";
import { checkLease, type LeaseInUse } from "../db/lease/lease.ts";
import { msOf, timeFrom } from "../db/sql/time-text.ts";
import type { Interval } from "../sync/intervals.ts";
import type { DifferingBill, Repair, StoredBill, Stream, VerifyStore } from "../sync/store.ts";
import { contents, isSame, readBillsByKey, textOf } from "./bill-rows.ts";
import { areResolved, rejectRows, supersedeRows } from "./rejected-bills.ts";
import { upsertBills } from "./upsert-bills.ts";

/** Runs work that only reads. */
type Read = <T>(work: (db: Queryable) => Promise<T>) => Promise<T>;

/** The tables of one account, as a verify compares them with the exchange's answers and repairs them. */
export function openVerifyStore(
  db: Database,
  lease: LeaseInUse,
  runId: string,
  limits: TransactionOptions = {},
): VerifyStore {
  const transact = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    withDatabaseErrors(() => inTransaction(db, work, limits));
  // One transaction at a time. Waiting here, and not in the database, keeps no connection busy.
  const turns = new PQueue({ concurrency: 1 });
  return {
    compare: (stream, bills) => transact((from) => compareBills(from, stream, bills)),
    stored: (stream, window) => storedBills(transact, stream, window),
    accepted: (stream, rows) => transact((from) => areResolved(from, stream, rows)),
    repair: (repair) =>
      turns.add(() =>
        transact(async (tx) => {
          await checkLease(tx, lease);
          await storeRepair(tx, repair, runId);
          lease.assertHeld?.();
        }),
      ),
  };
}

async function compareBills(
  db: Queryable,
  { account, productType }: Stream,
  bills: readonly Bill[],
): Promise<readonly DifferingBill[]> {
  const keys = bills.map(({ billId }) => ({ productType, billId }));
  const rows = await readBillsByKey(db, account, keys);
  const stored = new Map(rows.map((row) => [row.bill.billId, row]));
  return bills.flatMap((bill): DifferingBill[] => {
    const row = stored.get(bill.billId);
    if (row === undefined) return [{ bill, changes: undefined }];
    const served = textOf(bill);
    if (isSame(row.bill, served)) return [];
    const changes = contents.flatMap(({ name, field }) =>
      row.bill[field] === served[field]
        ? []
        : [{ field: name, stored: shown(row.bill, field), served: shown(served, field) }],
    );
    return [{ bill, changes }];
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
): AsyncGenerator<readonly StoredBill[]> {
  let after: { readonly cTime: EpochMs; readonly billId: string } = { cTime: from, billId: "" };
  for (;;) {
    const { rows } = await read((db) =>
      db.execute<{ billId: string; cTimeMs: string }>(sql`
        select
          bill_id as "billId",
          ${msOf(sql`c_time`)} as "cTimeMs"
        from bills
        where account = ${account}
          and product_type = ${productType}
          and c_time >= ${isoTime(after.cTime)}
          and c_time < ${isoTime(to)}
          and (c_time, bill_id) > (${isoTime(after.cTime)}::timestamptz, ${after.billId})
        order by c_time, bill_id
        limit ${batchRows}`),
    );
    const batch = rows.map(({ billId, cTimeMs }) => ({ billId, cTime: timeFrom(cTimeMs) }));
    yield batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < batchRows) return;
    after = last;
  }
}

async function storeRepair(
  tx: Transaction,
  { stream, differing, rejected }: Repair,
  runId: string,
): Promise<void> {
  const bills = differing.map(({ bill }) => bill);
  await upsertBills(tx, [{ stream, bills }]);
  await supersedeRows(tx, [{ stream, bills, rejected }]);
  await rejectRows(tx, stream, runId, rejected);
}
